package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// counts is what a service has seen.
type counts struct {
	mutex       sync.Mutex
	requests    map[[2]string]int64 // policy and verdict
	uninspected map[[2]string]int64 // policy and reason
	panics      atomic.Int64
	streams     atomic.Int64
	evaluated   atomic.Int64 // nanoseconds
}

var began = time.Now()

func (c *counts) request(policy, verdict string) { c.add(&c.requests, policy, verdict) }

func (c *counts) skipped(policy, reason string) { c.add(&c.uninspected, policy, reason) }

func (c *counts) add(to *map[[2]string]int64, policy, what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if *to == nil {
		*to = map[[2]string]int64{}
	}
	(*to)[[2]string{policy, what}]++
}

// write shows the counts in Prometheus' text format.
func (s *service) writeMetrics(to io.Writer) {
	current, c := s.current.Load(), &s.counts
	family := func(name, kind, help string) {
		fmt.Fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	gauge := func(name, help string, value any) {
		family(name, "gauge", help)
		fmt.Fprintf(to, "%s %v\n", name, value)
	}
	family("edgegate_waf_policy_wanted_generation", "gauge", "Generation of a policy that was asked for.")
	for _, name := range sorted(current.wanted) {
		fmt.Fprintf(to, "edgegate_waf_policy_wanted_generation{%s} %d\n", labels(name), current.wanted[name])
	}
	family("edgegate_waf_policy_applied_generation", "gauge", "Generation of a policy that is in force.")
	for _, name := range sorted(current.engines) {
		generation := current.engines[name].policy.Generation
		fmt.Fprintf(to, "edgegate_waf_policy_applied_generation{%s} %d\n", labels(name), generation)
	}
	family("edgegate_waf_policy_refused", "gauge", "Whether what was asked of a policy has a mistake.")
	for _, name := range sorted(current.wanted) {
		refused := 0
		if current.mistakes[name] != nil {
			refused = 1
		}
		fmt.Fprintf(to, "edgegate_waf_policy_refused{%s} %d\n", labels(name), refused)
	}
	family("edgegate_waf_requests_total", "counter", "Requests by verdict: passed, detected, blocked, refused.")
	c.each(c.requests, func(key [2]string, count int64) {
		fmt.Fprintf(to, "edgegate_waf_requests_total{%s,verdict=%q} %d\n", labels(key[0]), key[1], count)
	})
	family("edgegate_waf_uninspected_total", "counter", "Bodies that passed without inspection, or in part, by reason.")
	c.each(c.uninspected, func(key [2]string, count int64) {
		fmt.Fprintf(to, "edgegate_waf_uninspected_total{%s,reason=%q} %d\n", labels(key[0]), key[1], count)
	})
	family("edgegate_waf_evaluation_seconds_total", "counter", "Time in rules, waiting for a turn included.")
	fmt.Fprintf(to, "edgegate_waf_evaluation_seconds_total %g\n", float64(c.evaluated.Load())/1e9)
	family("edgegate_waf_panics_total", "counter", "Streams that ended because of a defect of ours or Coraza's.")
	fmt.Fprintf(to, "edgegate_waf_panics_total %d\n", c.panics.Load())
	gauge("edgegate_waf_streams", "Requests under way.", c.streams.Load())
	gauge("edgegate_waf_held_bytes", "Bytes of bodies that wait for a verdict.", s.gate.held.Load())
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	gauge("go_memstats_heap_alloc_bytes", "Bytes of live and unswept heap objects.", memory.HeapAlloc)
	gauge("go_goroutines", "Goroutines.", runtime.NumGoroutine())
	gauge("process_resident_memory_bytes", "Resident memory.", resident())
	gauge("process_start_time_seconds", "Start, in Unix time.", began.Unix())
}

func (c *counts) each(of map[[2]string]int64, show func([2]string, int64)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	keys := make([][2]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	for _, key := range keys {
		show(key, of[key])
	}
}

func sorted[V any](of map[string]V) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func labels(policy string) string {
	namespace, name, _ := strings.Cut(policy, "/")
	return fmt.Sprintf("namespace=%q,name=%q", namespace, name)
}

func resident() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	var size, pages int64
	if err == nil {
		_, err = fmt.Sscan(string(raw), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

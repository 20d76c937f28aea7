package main

import (
	"context"
	"io/fs"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// service holds the policies that are in force and serves streams by them.
type service struct {
	pb.UnimplementedExternalProcessorServer
	rules    fs.FS
	gate     *gate
	verdicts *verdicts
	defects  atomic.Pointer[faults]
	counts   counts
	change   sync.Mutex
	config   Config // the last one that was asked for; under `change`
	current  atomic.Pointer[state]
}

// state is what one configuration made; streams keep the one that they began with.
type state struct {
	engines  map[string]*engine
	routes   []Route
	wanted   map[string]int64 // policy to the generation that was asked for
	mistakes map[string]*Mistake
}

func newService(rules fs.FS, g *gate, v *verdicts, f faults) *service {
	s := &service{rules: rules, gate: g, verdicts: v}
	s.defects.Store(&f)
	s.current.Store(&state{})
	return s
}

// engineFor returns the policy of a route of Envoy; nil where no policy names it.
func (s *state) engineFor(route string) (*engine, bool) {
	for _, one := range s.routes {
		if strings.HasPrefix(route, one.Prefix) {
			found := s.engines[one.Policy]
			return found, true
		}
	}
	return nil, false
}

// apply puts a configuration in force and returns the mistakes in it. A policy with a mistake stays as it was, and the
// others change; one that never was right has no engine, and its requests are refused.
func (s *service) apply(c Config) []*Mistake {
	s.change.Lock()
	defer s.change.Unlock()
	return s.put(c, s.current.Load())
}

// applyWhole does the same after `keep` has kept the configuration.
func (s *service) applyWhole(c Config, keep func(Config) error) error {
	s.change.Lock()
	defer s.change.Unlock()
	err := keep(c)
	if err == nil {
		s.put(c, s.current.Load())
	}
	return err
}

// applyPart puts the policies and routes of one namespace in force; the others stay. It returns the whole.
func (s *service) applyPart(namespace string, part Config, keep func(Config) error) error {
	s.change.Lock()
	defer s.change.Unlock()
	whole, err := merge(s.config, namespace, part)
	if err == nil {
		err = keep(whole)
	}
	if err == nil {
		s.put(whole, s.current.Load())
	}
	return err
}

// haveFaults lets the service have these defects and no others, and builds all policies anew.
func (s *service) haveFaults(f faults) {
	s.change.Lock()
	defer s.change.Unlock()
	s.defects.Store(&f)
	s.put(s.config, &state{})
}

func (s *service) has(fault string) bool { return (*s.defects.Load())[fault] }

func (s *service) put(c Config, before *state) []*Mistake {
	s.config = c
	next := &state{map[string]*engine{}, c.Routes, map[string]int64{}, map[string]*Mistake{}}
	if s.has(sharedExcludes) {
		c.Policies = share(c.Policies)
	}
	var mistakes []*Mistake
	for _, p := range c.Policies {
		next.wanted[p.Name] = p.Generation
		made, mistake := s.engine(p, before.engines[p.Name])
		if mistake != nil {
			mistakes = append(mistakes, mistake)
			next.mistakes[p.Name] = mistake
			log.Print("refused: ", mistake)
		}
		if made != nil {
			next.engines[p.Name] = made
		}
	}
	if s.has(frozenByOne) && len(mistakes) > 0 {
		return mistakes
	}
	s.current.Store(next)
	return mistakes
}

// engine returns what is in force for a policy from now on, and what is wrong with what was asked for.
func (s *service) engine(p Policy, before *engine) (*engine, *Mistake) {
	if before != nil && reflect.DeepEqual(before.policy, p) {
		return before, nil
	}
	if before != nil && s.has(stalePolicy) {
		stale := *before
		stale.policy.Generation = p.Generation
		return &stale, nil
	}
	if before != nil && sameRules(before.policy, p) {
		return &engine{p, before.waf}, nil
	}
	compiled := p
	if s.has(enforceIgnored) && p.Mode == enforce {
		compiled.Mode = observe
	}
	if s.has(blocksObserved) && p.Mode == observe {
		compiled.Mode = enforce
	}
	made, mistake := compile(compiled, s.rules, s.note)
	if mistake != nil {
		return before, mistake
	}
	made.policy = p
	log.Printf("applied: %s, generation %d, %s", p.Name, p.Generation, p.Mode)
	return made, nil
}

// sameRules tells whether two forms of a policy differ in their generation alone.
func sameRules(one, other Policy) bool {
	one.Generation = other.Generation
	return reflect.DeepEqual(one, other)
}

func share(policies []Policy) []Policy {
	var ids []int
	for _, p := range policies {
		ids = append(ids, p.Exclusions.IDs...)
	}
	shared := slices.Clone(policies)
	for i := range shared {
		shared[i].Exclusions.IDs = ids
	}
	return shared
}

// watch applies a file whenever its content is another than the last one; one that cannot be read changes nothing.
func (s *service) watch(ctx context.Context, path, last string, every time.Duration) {
	for {
		last = s.look(path, last)
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// look applies a file unless its content is the last one that was seen, and returns what it is now. Nobody may change
// the file meanwhile: an older content would win.
func (s *service) look(path, last string) string {
	s.change.Lock()
	defer s.change.Unlock()
	raw, err := os.ReadFile(path)
	if err != nil || string(raw) == last {
		return last
	}
	c, err := readConfig(raw)
	if err != nil {
		log.Printf("%s: %s; what was in force stays", path, err)
		return string(raw)
	}
	s.put(c, s.current.Load())
	return string(raw)
}

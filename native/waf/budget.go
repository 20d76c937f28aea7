package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/corazawaf/coraza/v3/experimental/plugins"
	"github.com/corazawaf/coraza/v3/experimental/plugins/plugintypes"
)

// limits say what one request, and all of them, may cost.
type limits struct {
	text, upload, held int64
	time, wait         time.Duration // of a processor, and for it
	turns              int
}

var (
	errTime   = errors.New("over-time")
	errMemory = errors.New("over-memory")
)

// gate lets evaluations take turns, and counts what is held.
type gate struct {
	limits
	turn chan struct{}
	held atomic.Int64
}

func newGate(l limits) *gate {
	if l.turns <= 0 {
		l.turns = 2 * runtime.GOMAXPROCS(0)
	}
	return &gate{limits: l, turn: make(chan struct{}, l.turns)}
}

// budget is the processor time of one request. Time on the clock would refuse the harmless on a busy machine.
type budget struct {
	left  time.Duration
	until time.Duration // when the evaluation that is under way has to end, by its thread's clock
	began time.Time     // when it began
	over  bool
}

// Coraza takes no context; its rules ask whether the time is over, see rules.go.
var budgets sync.Map // id of a transaction to its *budget

const overBudget = "edgegateOverBudget"

type overBudgetOperator struct{}

func (overBudgetOperator) Evaluate(tx plugintypes.TransactionState, _ string) bool {
	found, there := budgets.Load(tx.ID())
	if !there {
		return false
	}
	b := found.(*budget)
	// A thread has no more time than there was: to look at the clock on the wall first saves 240 system calls a request.
	b.over = b.over || time.Since(b.began) > b.left && threadTime() > b.until
	return b.over
}

// threadTime is how long the calling thread has had a processor.
func threadTime() time.Duration {
	const ofThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, ofThread, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

func init() {
	plugins.RegisterOperator(overBudget, func(plugintypes.OperatorOptions) (plugintypes.Operator, error) {
		return overBudgetOperator{}, nil
	})
}

// evaluate runs rules when it is their turn. A client that goes away while it waits gives its place up.
func (g *gate) evaluate(ctx context.Context, b *budget, rules func() error) error {
	ctx, cancel := context.WithTimeout(ctx, g.limits.wait)
	defer cancel()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return errTime
	}
	defer func() { <-g.turn }()
	// The clock is the thread's, so the rules must stay on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	defer func() { b.left -= threadTime() - began }()
	b.until, b.began = began+b.left, time.Now()
	if err := rules(); err != nil {
		return err
	}
	if b.over {
		return errTime
	}
	return nil
}

// hold counts bytes that have to wait for a verdict.
func (g *gate) hold(count int) error {
	if g.held.Add(int64(count)) > g.limits.held {
		return errMemory
	}
	return nil
}

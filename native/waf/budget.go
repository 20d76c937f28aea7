package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corazawaf/coraza/v3/experimental/plugins"
	"github.com/corazawaf/coraza/v3/experimental/plugins/plugintypes"
)

// limits say what one request, and all of them, may cost.
type limits struct {
	text, upload, held int64
	time               time.Duration
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

// budget is the time of one request: from its first wait for a turn, as far as it waits or is evaluated.
type budget struct {
	left  time.Duration
	until atomic.Int64 // when the evaluation that is under way has to end, in Unix nanoseconds
	over  atomic.Bool
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
	if !b.over.Load() && time.Now().UnixNano() > b.until.Load() {
		b.over.Store(true)
	}
	return b.over.Load()
}

func init() {
	plugins.RegisterOperator(overBudget, func(plugintypes.OperatorOptions) (plugintypes.Operator, error) {
		return overBudgetOperator{}, nil
	})
}

// evaluate runs rules when it is their turn. A client that goes away while it waits gives its place up.
func (g *gate) evaluate(ctx context.Context, b *budget, rules func() error) error {
	began := time.Now()
	defer func() { b.left -= time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, b.left)
	defer cancel()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return errTime
	}
	defer func() { <-g.turn }()
	b.until.Store(began.Add(b.left).UnixNano())
	if err := rules(); err != nil {
		return err
	}
	if b.over.Load() {
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

package main

import (
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/corazawaf/coraza/v3"
	"github.com/corazawaf/coraza/v3/types"
)

// engine is one policy, compiled.
type engine struct {
	policy Policy
	waf    coraza.WAF // nil where the policy is disabled
}

// Mistake says what is wrong with a policy; Line counts within its directives, 0 is none of them.
type Mistake struct {
	Policy    string `json:"policy"`
	Line      int    `json:"line,omitempty"`
	Directive string `json:"directive,omitempty"`
	Message   string `json:"message"`
}

func (m *Mistake) Error() string {
	if m.Line == 0 {
		return fmt.Sprintf("policy %s: %s", m.Policy, m.Message)
	}
	return fmt.Sprintf("policy %s, line %d of its directives, %s: %s", m.Policy, m.Line, m.Directive, m.Message)
}

// compile returns the engine of a policy, or its mistake.
func compile(p Policy, rules fs.FS, note func(types.MatchedRule)) (*engine, *Mistake) {
	if err := p.check(); err != nil {
		return nil, &Mistake{Policy: p.Name, Message: err.Error()}
	}
	if p.Mode == disabled {
		return &engine{policy: p}, nil
	}
	build := func(own string) (coraza.WAF, error) {
		text := p.before() + own + "\n" + p.after()
		return coraza.NewWAF(coraza.NewWAFConfig().WithRootFS(rules).WithErrorCallback(note).WithDirectives(text))
	}
	waf, err := build(p.Directives)
	if err == nil {
		return &engine{p, waf}, nil
	}
	return nil, locate(p, err, func(own string) error { _, err := build(own); return err })
}

// locate finds the first directive that is refused: Coraza does not say which. All that begin before it are accepted.
func locate(p Policy, whole error, try func(own string) error) *Mistake {
	lines := strings.Split(p.Directives, "\n")
	starts := directiveStarts(lines)
	upTo := func(count int) string {
		if count < len(starts) {
			return strings.Join(lines[:starts[count]], "\n")
		}
		return p.Directives
	}
	first := sort.Search(len(starts), func(i int) bool { return try(upTo(i+1)) != nil })
	if first == len(starts) || try("") != nil {
		return &Mistake{Policy: p.Name, Message: whole.Error()}
	}
	line := starts[first]
	return &Mistake{p.Name, line + 1, strings.TrimSpace(lines[line]), try(upTo(first + 1)).Error()}
}

// directiveStarts returns the numbers of the lines on which directives begin.
func directiveStarts(lines []string) []int {
	var found []int
	goesOn := false
	for number, line := range lines {
		bare := strings.TrimSpace(line)
		if bare == "" || bare[0] == '#' {
			continue
		}
		if !goesOn {
			found = append(found, number)
		}
		goesOn = strings.HasSuffix(bare, "\\")
	}
	return found
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// Defects that can be switched on by name, so that a gate can show that it sees them.
const (
	enforceIgnored = "enforce-ignored"  // what the rules forbid passes
	emptyError     = "empty-error"      // a block is answered 500 without content
	truncatedBody  = "truncated-body"   // of an inspected response only the first half comes
	stalePolicy    = "stale-policy"     // a change is reported as applied and is not
	sharedExcludes = "exclusions-leak"  // the exclusions of one policy hold for all
	frozenByOne    = "frozen-by-one"    // one policy with a bad directive keeps all from changing
	blocksObserved = "observe-enforced" // Observe blocks
	streamsHeld    = "streams-held"     // what has no end is held until its end
	noHeldLimit    = "no-held-limit"    // bodies are held whatever they take together
	silentBypass   = "silent-bypass"    // what passes unseen is not counted
)

func faultNames() []string {
	return []string{
		enforceIgnored, emptyError, truncatedBody, stalePolicy, sharedExcludes, frozenByOne, blocksObserved,
		streamsHeld, silentBypass, noHeldLimit,
	}
}

type faults map[string]bool

func readFaults(words string) (faults, error) {
	found := faults{}
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(faultNames(), word) {
			return nil, fmt.Errorf("--fault %q is unknown; there are %s", word, strings.Join(faultNames(), ", "))
		}
		found[word] = true
	}
	return found, nil
}

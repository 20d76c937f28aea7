package main

import (
	"strings"
	"testing"
)

func TestMisspeltFieldIsRefused(t *testing.T) {
	_, err := readConfig([]byte(`{"policies": [{"name": "a/b", "mood": "Enforce"}]}`))
	if err == nil || !strings.Contains(err.Error(), "mood") {
		t.Fatalf("a misspelt field must be named, not taken for its default: %v", err)
	}
}

func TestConfigNamesEachPolicyOnceAndRoutesNameKnownOnes(t *testing.T) {
	for text, part := range map[string]string{
		`{"policies": [{"name": "a/b"}, {"name": "a/b"}]}`: "policies[1].name",
		`{"policies": [{}]}`:                             "policies[0].name",
		`{"routes": [{"prefix": "x", "policy": "a/b"}]}`: "routes[0]",
		`{} {}`: "behind the end",
		``:      "EOF",
	} {
		if _, err := readConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: want %q, got %v", text, part, err)
		}
	}
}

func TestLongestPrefixWins(t *testing.T) {
	c, err := readConfig([]byte(`{"policies": [{"name": "a/all"}, {"name": "a/one"}], "routes": [
		{"prefix": "r/", "policy": "a/all"}, {"prefix": "r/one/", "policy": "a/one"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &state{map[string]*engine{"a/all": {policy: c.Policies[0]}, "a/one": {policy: c.Policies[1]}}, c.Routes, nil, nil}
	if found, _ := s.engineFor("r/one/x"); found.policy.Name != "a/one" {
		t.Errorf("r/one/x got %s", found.policy.Name)
	}
	if found, _ := s.engineFor("r/two"); found.policy.Name != "a/all" {
		t.Errorf("r/two got %s", found.policy.Name)
	}
	if found, named := s.engineFor("other"); found != nil || named {
		t.Errorf("other got a policy")
	}
}

func TestCheckRefusesWhatCannotBe(t *testing.T) {
	for text, part := range map[string]string{
		`{"name": "a/b", "mode": "On"}`:                                           "mode",
		`{"name": "a/b", "samplingPercentage": 0}`:                                "samplingPercentage",
		`{"name": "a/b", "paranoiaLevels": {"blocking": 3, "detection": 1}}`:      "paranoiaLevels",
		`{"name": "a/b", "scoreThresholds": {"inbound": 0, "outbound": 4}}`:       "scoreThresholds",
		`{"name": "a/b", "ruleExclusions": {"tags": ["x\"\nSecRuleEngine Off"]}}`: "tags",
		`{"name": "a/b", "ruleExclusions": {"idRanges": ["9-1"]}}`:                "idRanges",
	} {
		var p Policy
		if err := p.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := p.check(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: want %q, got %v", text, part, err)
		}
	}
}

func TestChecksNeverStandInAChain(t *testing.T) {
	id, rule := firstCheck, "SecRule ARGS \"@rx a\" \\\n    \"id:1,\\\n    phase:2,\\\n    chain\"\n    SecRule ARGS \"@rx b\" \\\n        \"chain\"\n    SecRule ARGS \"@rx c\"\n"
	text := withChecks(strings.Repeat(rule, 20), &id)
	lines := strings.Split(text, "\n")
	for number, line := range lines {
		if strings.Contains(line, overBudget) && number > 0 {
			before := lines[number-1]
			if !strings.Contains(before, overBudget) && !strings.Contains(before, "@rx c") {
				t.Fatalf("line %d, a check, stands behind %q", number+1, before)
			}
		}
	}
	if count := strings.Count(text, overBudget); count != 9 {
		t.Errorf("20 rules got %d checks, want 3 phases at 3 places", count)
	}
}

func TestChecksNeverStandAmongSkippedRules(t *testing.T) {
	id, rule := firstCheck, "SecRule ARGS \"@rx a\" \\\n    \"id:1,\\\n    skip:1\"\nSecRule ARGS \"@rx b\" \"id:2\"\n"
	text := withChecks(strings.Repeat(rule, 20), &id)
	if strings.Count(text, overBudget) < 9 || strings.Contains(text, "1\"\nSecRule REQUEST_PROTOCOL") {
		t.Errorf("got %s", text)
	}
}

func TestUnknownFaultIsRefused(t *testing.T) {
	if _, err := readFaults("stale-policy,oops"); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("got %v", err)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// What a policy does with what the rules say.
const (
	disabled = "Disabled"
	observe  = "Observe"
	enforce  = "Enforce"
)

// Config is the whole of what a WAF is to do.
type Config struct {
	Policies []Policy `json:"policies"`
	Routes   []Route  `json:"routes"`
}

// Route gives the routes of Envoy whose name begins so a policy; the longest prefix wins.
type Route struct {
	Prefix string `json:"prefix"`
	Policy string `json:"policy"`
}

// Policy has the fields of a TrafficProtectionPolicy, with their defaults.
type Policy struct {
	Name       string `json:"name"` // namespace/name
	Generation int64  `json:"generation"`
	Mode       string `json:"mode"`
	Sampling   int    `json:"samplingPercentage"`
	Paranoia   struct {
		Blocking  int `json:"blocking"`
		Detection int `json:"detection"`
	} `json:"paranoiaLevels"`
	Thresholds struct {
		Inbound  int `json:"inbound"`
		Outbound int `json:"outbound"`
	} `json:"scoreThresholds"`
	Exclusions struct {
		Tags   []string `json:"tags"`
		IDs    []int    `json:"ids"`
		Ranges []string `json:"idRanges"`
	} `json:"ruleExclusions"`
	// Directives of the policy's own, before the rule set.
	Directives string `json:"directives"`
	// RequestOnly leaves responses alone.
	RequestOnly bool `json:"requestOnly"`
}

// UnmarshalJSON starts from the defaults, so that 0 stays a value that is refused.
func (p *Policy) UnmarshalJSON(raw []byte) error {
	type plain Policy
	found := plain{Mode: observe, Sampling: 100}
	found.Paranoia.Blocking, found.Paranoia.Detection = 1, 1
	found.Thresholds.Inbound, found.Thresholds.Outbound = 5, 4
	if err := decode(raw, &found); err != nil {
		return err
	}
	*p = Policy(found)
	return nil
}

// decode refuses what it does not know: a misspelt field must not mean its default.
func decode(raw []byte, into any) error {
	reader := json.NewDecoder(bytes.NewReader(raw))
	reader.DisallowUnknownFields()
	if err := reader.Decode(into); err != nil {
		return err
	}
	if _, err := reader.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the end")
	}
	return nil
}

func readConfig(raw []byte) (Config, error) {
	var c Config
	if err := decode(raw, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

// check returns what is wrong with a configuration, and sorts its routes so that the first that fits is the longest.
func (c *Config) check() error {
	names := map[string]bool{}
	for i, p := range c.Policies {
		if p.Name == "" || names[p.Name] {
			return fmt.Errorf("policies[%d].name is %q: every policy has a name of its own", i, p.Name)
		}
		names[p.Name] = true
	}
	for i, r := range c.Routes {
		if r.Prefix == "" || !names[r.Policy] {
			return fmt.Errorf("routes[%d] gives the prefix %q the policy %q, which is not there", i, r.Prefix, r.Policy)
		}
	}
	sort.SliceStable(c.Routes, func(i, j int) bool { return len(c.Routes[i].Prefix) > len(c.Routes[j].Prefix) })
	return nil
}

// merge replaces the part of one namespace.
func merge(whole Config, namespace string, part Config) (Config, error) {
	ours := func(policy string) bool { return strings.HasPrefix(policy, namespace+"/") }
	for _, p := range part.Policies {
		if !ours(p.Name) {
			return whole, fmt.Errorf("policy %q does not belong to namespace %q", p.Name, namespace)
		}
	}
	for _, r := range part.Routes {
		if !ours(r.Policy) {
			return whole, fmt.Errorf("route %q has a policy that does not belong to namespace %q", r.Prefix, namespace)
		}
	}
	merged := Config{slices.Clone(part.Policies), slices.Clone(part.Routes)}
	for _, p := range whole.Policies {
		if !ours(p.Name) {
			merged.Policies = append(merged.Policies, p)
		}
	}
	for _, r := range whole.Routes {
		if !ours(r.Policy) {
			merged.Routes = append(merged.Routes, r)
		}
	}
	return merged, merged.check()
}

var (
	tagForm   = regexp.MustCompile(`^[A-Za-z0-9_/-]+$`)
	rangeForm = regexp.MustCompile(`^(\d{1,10})-(\d{1,10})$`)
)

// check returns what is wrong with a policy. Inverted levels would answer every request with 500 (rule 901500).
func (p *Policy) check() error {
	switch {
	case p.Mode != disabled && p.Mode != observe && p.Mode != enforce:
		return fmt.Errorf("mode is %q; it is Disabled, Observe or Enforce", p.Mode)
	case p.Sampling < 1 || p.Sampling > 100:
		return fmt.Errorf("samplingPercentage is %d; it is 1 to 100", p.Sampling)
	case p.Paranoia.Blocking < 1 || p.Paranoia.Detection > 4 || p.Paranoia.Blocking > p.Paranoia.Detection:
		return fmt.Errorf("paranoiaLevels are blocking %d, detection %d; both are 1 to 4, and detection is not below blocking",
			p.Paranoia.Blocking, p.Paranoia.Detection)
	case p.Thresholds.Inbound < 1 || p.Thresholds.Outbound < 1:
		return fmt.Errorf("scoreThresholds are %d, %d; they are 1 or more", p.Thresholds.Inbound, p.Thresholds.Outbound)
	}
	for _, tag := range p.Exclusions.Tags {
		if !tagForm.MatchString(tag) {
			return fmt.Errorf("ruleExclusions.tags holds %q; a tag is made of letters, digits, _, / and -", tag)
		}
	}
	for _, text := range p.Exclusions.Ranges {
		part := rangeForm.FindStringSubmatch(text)
		if part == nil || number(part[1]) >= number(part[2]) {
			return fmt.Errorf("ruleExclusions.idRanges holds %q; it is low-high", text)
		}
	}
	return nil
}

func number(text string) int {
	found, _ := strconv.Atoi(text)
	return found
}

// before returns what stands before the policy's own directives, after what follows them and the rule set.
func (p *Policy) before() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "Include @coraza.conf-recommended\nInclude @crs-setup.conf.example\nSecAuditEngine Off")
	// The limits are ours, see body.go: Coraza's would end a request in the middle of a write.
	fmt.Fprintln(b, "SecRequestBodyLimit 1073741824\nSecResponseBodyLimit 1073741824")
	fmt.Fprintf(b, "SecRuleEngine %s\n", map[string]string{enforce: "On", observe: "DetectionOnly", disabled: "Off"}[p.Mode])
	if p.RequestOnly {
		fmt.Fprintln(b, "SecResponseBodyAccess Off")
	}
	set := func(id int, variables string) {
		fmt.Fprintf(b, "SecAction \"id:%d,phase:1,pass,t:none,nolog,%s\"\n", id, variables)
	}
	set(900110, fmt.Sprintf("setvar:tx.inbound_anomaly_score_threshold=%d,setvar:tx.outbound_anomaly_score_threshold=%d",
		p.Thresholds.Inbound, p.Thresholds.Outbound))
	set(900000, fmt.Sprintf("setvar:tx.blocking_paranoia_level=%d", p.Paranoia.Blocking))
	set(900001, fmt.Sprintf("setvar:tx.detection_paranoia_level=%d", p.Paranoia.Detection))
	if p.Sampling < 100 {
		set(900400, fmt.Sprintf("setvar:tx.sampling_percentage=%d", p.Sampling))
	}
	return b.String()
}

func (p *Policy) after() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "Include @owasp_crs/*.conf")
	for _, tag := range p.Exclusions.Tags {
		fmt.Fprintf(b, "SecRuleRemoveByTag %s\n", tag)
	}
	for _, id := range p.Exclusions.IDs {
		fmt.Fprintf(b, "SecRuleRemoveById %d\n", id)
	}
	for _, text := range p.Exclusions.Ranges {
		fmt.Fprintf(b, "SecRuleRemoveById %s\n", text)
	}
	// Where a request whose time is over goes on.
	fmt.Fprintf(b, "SecMarker %s\n", endMarker)
	return b.String()
}

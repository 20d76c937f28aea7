package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const (
	endMarker  = "EDGEGATE-END"
	firstCheck = 9500001 // ids from here on are our own rules
	// A question about the time costs 1 µs; eight rules of the SQL file and 128 KiB of text cost 0.1 s.
	rulesBetweenChecks = 8
)

// ruleFiles are the files of a rule set, with questions about the time between their rules.
type ruleFiles struct {
	fs.FS
	checked map[string][]byte
}

// ReadFile finds a file as Coraza asks for it, which is relative to the file that includes it.
func (r ruleFiles) ReadFile(name string) ([]byte, error) {
	if at := strings.Index(name, "@"); at > 0 {
		name = name[at:]
	}
	if content, there := r.checked[name]; there {
		return content, nil
	}
	return fs.ReadFile(r.FS, name)
}

func loadRules(folder string) (fs.FS, error) {
	if folder == "" {
		return nil, errors.New("--rules is missing: the folder `rules` of a coraza-coreruleset module")
	}
	files := ruleFiles{os.DirFS(folder), map[string][]byte{}}
	for _, name := range []string{"@coraza.conf-recommended", "@crs-setup.conf.example"} {
		if _, err := files.ReadFile(name); err != nil {
			return nil, fmt.Errorf("--rules %s: %w", folder, err)
		}
	}
	names, _ := fs.Glob(files, "@owasp_crs/*.conf")
	if len(names) == 0 {
		return nil, fmt.Errorf("--rules %s: there is no @owasp_crs/*.conf in it", folder)
	}
	id := firstCheck
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--rules %s: %w", folder, err)
		}
		files.checked[name] = []byte(withChecks(string(content), &id))
	}
	return files, nil
}

var skip = regexp.MustCompile(`\bskip:'?(\d+)`)

// withChecks puts a question about the time before every eighth rule, but never into a chain, nor among rules that
// another one skips by their number.
func withChecks(text string, id *int) string {
	b, seen, open, chained, skipped := &strings.Builder{}, 0, false, false, 0
	for _, line := range strings.SplitAfter(text, "\n") {
		bare := strings.TrimSpace(line)
		comment := strings.HasPrefix(bare, "#") || bare == ""
		starts := !open && !comment && (strings.HasPrefix(bare, "SecRule ") || strings.HasPrefix(bare, "SecAction"))
		if starts && !chained {
			switch {
			case skipped > 0:
				skipped--
			case seen >= rulesBetweenChecks || seen == 0:
				writeChecks(b, id)
				seen = 0
			}
			seen++
		}
		if starts {
			chained = false
		}
		b.WriteString(line)
		if !comment {
			open = strings.HasSuffix(bare, "\\")
			chained = chained || hasChain(bare)
			if found := skip.FindStringSubmatch(bare); found != nil {
				skipped = number(found[1])
			}
		}
	}
	return b.String()
}

func hasChain(line string) bool {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t,\"'\\", r) }) {
		if word == "chain" {
			return true
		}
	}
	return false
}

func writeChecks(b *strings.Builder, id *int) {
	for _, phase := range []int{1, 2, 4} {
		fmt.Fprintf(b, "SecRule REQUEST_PROTOCOL \"@%s 1\" \"id:%d,phase:%d,pass,t:none,nolog,skipAfter:%s\"\n",
			overBudget, *id, phase, endMarker)
		*id++
	}
}

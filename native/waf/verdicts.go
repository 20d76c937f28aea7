package main

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/corazawaf/coraza/v3/types"
)

// Verdict is what happened to one request.
type Verdict struct {
	Case    string `json:"case"`
	Policy  string `json:"policy"`
	Verdict string `json:"verdict"` // passed, detected, blocked or refused
	Rule    int    `json:"rule,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Rules   []int  `json:"rules"`
	Log     string `json:"log,omitempty"` // of cases whose name ends with .log: it costs more than the rules themselves
}

// verdicts writes one line a request.
type verdicts struct {
	header string
	mutex  sync.Mutex
	file   *os.File
}

func openVerdicts(path, header string) (*verdicts, error) {
	if path == "" {
		return &verdicts{header: header}, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &verdicts{header: header, file: file}, err
}

func (v *verdicts) write(one Verdict) {
	if v.file == nil {
		return
	}
	line, err := json.Marshal(one)
	if err != nil {
		return
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	_, _ = v.file.Write(append(line, '\n'))
}

// matches collects the rules that matched in one transaction, as they are logged.
type matches struct {
	ids       []int
	text      string
	wouldStop int // the rule that stops the request, or would if the policy enforced
	keepText  bool
}

var noted sync.Map // id of a transaction to its *matches

// Rules of the recommended configuration and of the rule set that refuse a request.
var stopping = map[int]bool{
	200002: true, 200003: true, 200004: true, 200005: true, 200009: true,
	949110: true, 949111: true, 959100: true, 959101: true,
}

func (s *service) note(found types.MatchedRule) {
	kept, there := noted.Load(found.TransactionID())
	if !there {
		return
	}
	m, id := kept.(*matches), found.Rule().ID()
	m.ids = append(m.ids, id)
	if m.wouldStop == 0 && stopping[id] {
		m.wouldStop = id
	}
	if m.keepText {
		m.text += found.ErrorLog() + "\n"
	}
}

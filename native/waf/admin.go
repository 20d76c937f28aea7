package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// Applied is what is said about one policy.
type Applied struct {
	Name    string   `json:"name"`
	Wanted  int64    `json:"wantedGeneration"`
	Applied int64    `json:"appliedGeneration"` // 0: none was ever right
	Mode    string   `json:"mode,omitempty"`    // the one in force
	Mistake *Mistake `json:"mistake,omitempty"`
}

// admin answers /metrics, /readyz, and /policies: GET tells what is in force, PUT changes it.
func (s *service) admin(file string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(to http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(to, "ok\n") })
	mux.HandleFunc("GET /metrics", func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.writeMetrics(to)
	})
	mux.HandleFunc("GET /policies", func(to http.ResponseWriter, _ *http.Request) { s.show(to) })
	mux.HandleFunc("PUT /policies", func(to http.ResponseWriter, request *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(to, request.Body, 16<<20))
		var c Config
		if err == nil {
			c, err = readConfig(raw)
		}
		if err == nil && file != "" {
			err = replace(file, raw) // a WAF that is started again goes on with it
		}
		if err != nil {
			http.Error(to, err.Error(), http.StatusBadRequest)
			return
		}
		s.apply(c)
		s.show(to)
	})
	return mux
}

func (s *service) show(to http.ResponseWriter) {
	current, all := s.current.Load(), []Applied{}
	for _, name := range sorted(current.wanted) {
		one := Applied{Name: name, Wanted: current.wanted[name], Mistake: current.mistakes[name]}
		if found := current.engines[name]; found != nil {
			one.Applied, one.Mode = found.policy.Generation, found.policy.Mode
		}
		all = append(all, one)
	}
	to.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(to).Encode(map[string]any{"policies": all})
}

// replace writes a file so that nobody ever sees half of it.
func replace(path string, content []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".policies-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	if _, err = part.Write(content); err == nil {
		err = part.Sync()
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

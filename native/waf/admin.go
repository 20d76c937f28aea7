package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Applied is what is said about one policy.
type Applied struct {
	Name    string   `json:"name"`
	Wanted  int64    `json:"wantedGeneration"`
	Applied int64    `json:"appliedGeneration"` // 0: none was ever right
	Mode    string   `json:"mode,omitempty"`    // the one in force
	Mistake *Mistake `json:"mistake,omitempty"`
}

// admin answers /metrics, /readyz, and /policies: GET tells what is in force, PUT changes it, whole or one
// namespace's part. PUT /faults is for proofs.
func (s *service) admin(file string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(to http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(to, "ok\n") })
	mux.HandleFunc("GET /metrics", func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.writeMetrics(to)
	})
	mux.HandleFunc("GET /policies", func(to http.ResponseWriter, _ *http.Request) { s.answer(to, "", nil) })
	keep := func(c Config) error {
		if file == "" {
			return nil
		}
		raw, err := json.Marshal(c)
		if err == nil {
			err = replace(file, raw) // a firewall that is started again goes on with it
		}
		return err
	}
	mux.HandleFunc("PUT /policies", func(to http.ResponseWriter, request *http.Request) {
		c, err := received(to, request)
		if err == nil {
			err = s.applyWhole(c, keep)
		}
		s.answer(to, "", err)
	})
	mux.HandleFunc("PUT /policies/{namespace}", func(to http.ResponseWriter, request *http.Request) {
		namespace := request.PathValue("namespace")
		c, err := received(to, request)
		if err == nil {
			err = s.applyPart(namespace, c, keep)
		}
		s.answer(to, namespace+"/", err)
	})
	mux.HandleFunc("PUT /faults", func(to http.ResponseWriter, request *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(to, request.Body, 1<<10))
		var found faults
		if err == nil {
			found, err = readFaults(string(raw))
		}
		if err == nil {
			s.haveFaults(found)
		}
		s.answer(to, "", err)
	})
	return mux
}

func received(to http.ResponseWriter, request *http.Request) (Config, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(to, request.Body, 16<<20))
	if err != nil {
		return Config{}, err
	}
	return readConfig(raw)
}

// answer says what is in force of the policies whose names begin so.
func (s *service) answer(to http.ResponseWriter, prefix string, err error) {
	if err != nil {
		http.Error(to, err.Error(), http.StatusBadRequest)
		return
	}
	current, all := s.current.Load(), []Applied{}
	for _, name := range sorted(current.wanted) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
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

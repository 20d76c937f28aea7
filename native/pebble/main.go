// Pebble with a second door. The first one is Pebble as it is: a challenge is validated once, at once. Behind the second
// one the authority is patient, as RFC 8555 section 8.2 allows: it looks for the answer until it is there, and only then
// lets Pebble validate; and it answers the client when that is done, which saves the client's next look a second later.
//
// Each look goes to the edge at port 80, to the address that the authoritative server gives. A resolver is not asked
// before the answer is there: it would remember that a host does not exist. Pebble's own validation asks the resolver.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"time"

	"github.com/letsencrypt/pebble/v2/acme"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/core"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

const (
	betweenLooks = 50 * time.Millisecond
	settling     = 5 * time.Second // most that a validation takes
	userAgent    = "edgegate-acme-patience"
)

var (
	version    = "dev" // set by the linker
	file       = flag.String("config", "", "JSON file, as Pebble's, with `patient` beside `pebble`")
	askVersion = flag.Bool("version", false, "print the version and exit")
)

type config struct {
	Pebble struct {
		ListenAddress           string
		ManagementListenAddress string
		HTTPPort                int
		TLSPort                 int
		Certificate             string
		PrivateKey              string
		KeyAlgorithm            string
	}
	// Who the authority asks for addresses.
	Resolver string
	Patient  struct {
		ListenAddress string
		// Who is asked for addresses while the answer is looked for.
		Resolver string
		// How many milliseconds it looks at most.
		Limit int
	}
}

func main() {
	flag.Parse()
	if *askVersion {
		fmt.Println("Pebble version:", version)
		return
	}
	logger := log.New(os.Stdout, "Pebble ", log.LstdFlags|log.Lmicroseconds)
	if err := run(logger); err != nil {
		logger.Fatal(err)
	}
}

func run(logger *log.Logger) error {
	raw, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	var c config
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	store := db.NewMemoryStore()
	profiles := map[string]ca.Profile{"default": {Description: "The default profile"}}
	issuer := ca.New(logger, store, "", c.Pebble.KeyAlgorithm, 0, 1, profiles)
	validator := va.New(logger, c.Pebble.HTTPPort, c.Pebble.TLSPort, false, c.Resolver, store)
	front := wfe.New(logger, store, validator, issuer, []string{"pebble.letsencrypt.org"}, false, false, 0, 0)
	handler := front.Handler()
	done := make(chan error)
	serve := func(address string, handler http.Handler) {
		logger.Printf("Listening on: %s\n", address)
		done <- http.ListenAndServeTLS(address, c.Pebble.Certificate, c.Pebble.PrivateKey, handler)
	}
	patient := &patience{
		handler: handler,
		store:   store,
		client:  clientOf(c.Patient.Resolver, c.Pebble.HTTPPort),
		limit:   time.Duration(c.Patient.Limit) * time.Millisecond,
		log:     logger,
	}
	go serve(c.Pebble.ManagementListenAddress, front.ManagementHandler())
	go serve(c.Pebble.ListenAddress, handler)
	if c.Patient.ListenAddress != "" {
		go serve(c.Patient.ListenAddress, patient)
	}
	return <-done
}

// clientOf returns a client that asks one name server, and opens a connection for each request.
func clientOf(server string, port int) *http.Client {
	dialer := &net.Dialer{Timeout: 2 * time.Second, Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		},
	}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return dialer.DialContext(ctx, network, net.JoinHostPort(host, fmt.Sprint(port)))
	}
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}
}

type patience struct {
	handler http.Handler
	store   *db.MemoryStore
	client  *http.Client
	limit   time.Duration
	log     *log.Logger
}

func (p *patience) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	challenge := p.challenge(request)
	if challenge == nil {
		p.handler.ServeHTTP(response, request)
		return
	}
	began := time.Now()
	looks := until(request.Context(), p.limit, betweenLooks, func() bool { return p.answered(request.Context(), challenge) })
	p.log.Printf("Looked %d times in %s for %s", looks, time.Since(began).Round(time.Millisecond), challenge.Token)
	// Whatever was seen, Pebble validates now and decides.
	recorded := httptest.NewRecorder()
	p.handler.ServeHTTP(recorded, request)
	if recorded.Code == http.StatusOK {
		until(request.Context(), settling, betweenLooks/10, func() bool { return !pending(challenge) })
	}
	for name, values := range recorded.Header() {
		response.Header()[name] = values
	}
	response.WriteHeader(recorded.Code)
	_, _ = io.Copy(response, recorded.Body)
}

// challenge returns the HTTP-01 challenge that a request asks to validate; nil for any other request.
func (p *patience) challenge(request *http.Request) *core.Challenge {
	folder, id := path.Split(request.URL.Path)
	if request.Method != http.MethodPost || folder != "/chalZ/" {
		return nil
	}
	found := p.store.GetChallengeByID(id)
	if found == nil || found.Type != acme.ChallengeHTTP01 || !pending(found) {
		return nil
	}
	return found
}

// until looks until it sees what it looks for or the time is over, and returns how often.
func until(ctx context.Context, limit, interval time.Duration, seen func() bool) int {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for count := 1; ; count++ {
		if seen() {
			return count
		}
		select {
		case <-ctx.Done():
			return count
		case <-time.After(interval):
		}
	}
}

func (p *patience) answered(ctx context.Context, challenge *core.Challenge) bool {
	url := "http://" + challenge.Authz.Identifier.Value + "/.well-known/acme-challenge/" + challenge.Token
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := p.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	return err == nil && response.StatusCode == http.StatusOK && strings.HasPrefix(string(body), challenge.Token+".")
}

func pending(challenge *core.Challenge) bool {
	challenge.Authz.RLock()
	defer challenge.Authz.RUnlock()
	return challenge.Authz.Status == acme.StatusPending
}

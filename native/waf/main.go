// A web application firewall for Envoy: Coraza with the OWASP Core Rule Set behind ext_proc. One process serves many
// policies; the name of Envoy's route decides which one a request gets, never anything that a client sends.
//
// It needs no other Envoy than the released one. What it costs is processor time inside Coraza, some 7 ms a KiB of form
// or JSON text: so bodies are capped, evaluations take turns, and each request has a time budget (budget.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
)

// streamWindow is how many bytes of one request may be on their way to us.
const streamWindow = 256 << 10

var version = "dev" // set by the linker: Coraza's

type options struct {
	listen, admin, rules, policies, verdicts, caseHeader, fault string
	limits                                                      limits
}

func main() {
	o := options{}
	flag.StringVar(&o.listen, "listen", "127.0.0.1:9002", "host:port or unix:PATH where Envoy calls")
	flag.StringVar(&o.admin, "admin", "127.0.0.1:9003", "host:port or unix:PATH of /metrics, /readyz and /policies")
	flag.StringVar(&o.rules, "rules", "", "folder `rules` of coraza-coreruleset")
	flag.StringVar(&o.policies, "policies", "", "JSON file of the policies; watched, and written by PUT /policies")
	flag.StringVar(&o.verdicts, "verdicts", "", "file that gets one line of JSON a request; for tests")
	flag.StringVar(&o.caseHeader, "case-header", "", "request header that names a verdict; the rules do not see it")
	flag.StringVar(&o.fault, "fault", "", "defects to have, separated by commas: "+strings.Join(faultNames(), ", "))
	flag.Int64Var(&o.limits.text, "text-limit", 128<<10, "most bytes of a request body that is no file upload")
	flag.Int64Var(&o.limits.upload, "upload-limit", 13107200, "most bytes of a multipart request body")
	flag.Int64Var(&o.limits.held, "held-limit", 256<<20, "most bytes of bodies that are held at once, all requests")
	flag.DurationVar(&o.limits.time, "time-limit", 2*time.Second, "most processor time for the rules of one request")
	flag.DurationVar(&o.limits.wait, "wait-limit", 10*time.Second, "most time that a request waits for its turn")
	flag.IntVar(&o.limits.turns, "turns", 0, "evaluations at once (0: two a processor)")
	askVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *askVersion {
		fmt.Println("coraza", version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) error {
	faults, err := readFaults(o.fault)
	if err != nil {
		return err
	}
	rules, err := loadRules(o.rules)
	if err != nil {
		return err
	}
	verdicts, err := openVerdicts(o.verdicts, o.caseHeader)
	if err != nil {
		return err
	}
	service := newService(rules, newGate(o.limits), verdicts, faults)
	if o.policies != "" {
		// Before it listens: fifty policies take seconds, and nobody is to be refused meanwhile who has one.
		seen := service.look(o.policies, "")
		go service.watch(ctx, o.policies, seen, 100*time.Millisecond)
	}
	listener, err := listen(o.listen)
	if err != nil {
		return err
	}
	front, err := listen(o.admin)
	if err != nil {
		return err
	}
	admin := &http.Server{Handler: service.admin(o.policies), ReadHeaderTimeout: 5 * time.Second}
	back := newServer(service)
	done := make(chan error, 2)
	go func() { done <- admin.Serve(front) }()
	go func() { done <- back.Serve(listener) }()
	log.Printf("ready: Coraza %s, rules of %s", version, o.rules)
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	back.Stop()
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

func listen(address string) (net.Listener, error) {
	if path, isSocket := strings.CutPrefix(address, "unix:"); isSocket {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		return net.Listen("unix", path)
	}
	return net.Listen("tcp", address)
}

func newServer(s *service) *grpc.Server {
	// A buffered body comes as one message; each stream is one request. Its window is fixed: one that grows with the
	// traffic lets megabytes of a body in, uncounted, while the request waits for its turn.
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(16*streamWindow),
	)
	pb.RegisterExternalProcessorServer(server, s)
	return server
}

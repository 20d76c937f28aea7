// What runs in the pods that answer HTTP-01 challenges: cert-manager's own solver, with the flags that cert-manager
// gives it. Apart from the controllers, because a small program starts in 10 ms, and a burst starts many at once.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	port := flag.Int("listen-port", 8089, "where to listen")
	domain := flag.String("domain", "", "host name of the challenge")
	token := flag.String("token", "", "last part of the path that is answered")
	key := flag.String("key", "", "the answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := &solver.HTTP01Solver{ListenPort: *port, Domain: *domain, Token: *token, Key: *key}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Listen(klog.Background().WithName("acmesolver")); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// The controllers of cert-manager that an edge needs, over the packages that its module exports: ACME, CA and
// self-signed issuers, certificates, and HTTP-01 through Gateway API. The module's own main is a module of its own that
// no proxy serves. Left out: Venafi and Vault issuers, the shims for Ingresses and Gateways, CertificateSigningRequests.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"
)

// Names and defaults are those of cert-manager's own flags, so that what a run shows can be looked up.
var (
	kubeconfig   = flag.String("kubeconfig", "", "kubeconfig of the cluster that holds the Certificates")
	namespace    = flag.String("cluster-resource-namespace", "cert-manager", "where ClusterIssuers keep their Secrets")
	solverImage  = flag.String("acme-http01-solver-image", "", "image of the pods that answer challenges")
	nameservers  = flag.String("acme-http01-solver-nameservers", "", "host:port,… that the self check resolves with")
	retryPeriod  = flag.Duration("dns01-check-retry-period", 10*time.Second, "between two self checks, HTTP-01 too")
	minBackoff   = flag.Duration("certificate-request-minimum-backoff-duration", time.Hour, "after a failed issuance")
	maxBackoff   = flag.Duration("certificate-request-maximum-backoff-duration", 32*time.Hour, "most of that")
	workers      = flag.Int("concurrent-workers", 5, "workers of each controller")
	challenges   = flag.Int("max-concurrent-challenges", 60, "challenges under way at once")
	metrics      = flag.String("metrics-listen-address", "127.0.0.1:9402", "where /metrics is served")
	printVersion = flag.Bool("version", false, "print the version and exit")
)

func main() {
	klog.InitFlags(nil) // -v: 2 tells what happens, 4 each decision
	flag.Parse()
	if *printVersion {
		fmt.Println(util.VersionInfo().GitVersion)
		return
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, options())
	if err != nil {
		return err
	}
	base, err := factory.Build()
	if err != nil {
		return err
	}
	for name, build := range controller.Known() {
		loop, err := build(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group.Go(func() error { return loop.Run(*workers, ctx) })
	}
	listener, err := net.Listen("tcp", *metrics)
	if err != nil {
		return err
	}
	server := base.Metrics.NewServer(listener)
	group.Go(func() error { return server.Serve(listener) })
	group.Go(func() error { <-ctx.Done(); return server.Close() })
	base.SharedInformerFactory.Start(ctx.Done())
	base.KubeSharedInformerFactory.Start(ctx.Done())
	base.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	base.GWShared.Start(ctx.Done())
	err = group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func options() controller.ContextOptions {
	servers := strings.FieldsFunc(*nameservers, func(letter rune) bool { return letter == ',' })
	return controller.ContextOptions{
		Kubeconfig:         *kubeconfig,
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		ACMEOptions: controller.ACMEOptions{
			HTTP01SolverImage:                 *solverImage,
			HTTP01SolverResourceRequestCPU:    resource.MustParse("10m"),
			HTTP01SolverResourceRequestMemory: resource.MustParse("64Mi"),
			HTTP01SolverResourceLimitsCPU:     resource.MustParse("100m"),
			HTTP01SolverResourceLimitsMemory:  resource.MustParse("64Mi"),
			ACMEHTTP01SolverRunAsNonRoot:      true,
			HTTP01SolverNameservers:           servers,
			DNS01Nameservers:                  servers,
			DNS01CheckAuthoritative:           true,
			DNS01CheckRetryPeriod:             *retryPeriod,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: *challenges},
		IssuerOptions:    controller.IssuerOptions{ClusterResourceNamespace: *namespace},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: *minBackoff,
			CertificateRequestMaximumBackoffDuration: *maxBackoff,
		},
		ConfigOptions: controller.ConfigOptions{EnableGatewayAPI: true},
	}
}

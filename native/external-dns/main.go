// external-dns with one source and one provider: DNSEndpoint objects become records of a PowerDNS server. Flags, record
// types, ownership registry, plan and provider are those of the module; its own main links three clients of clouds that
// no proxy serves, and so do its packages `source` and `controller`. What they would do is the rest of this file.
//
// One thing differs from the module: with --events a change is taken up after --min-event-sync-interval, where the
// module collects changes for 5 s more.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	log "github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/external-dns/apis/v1alpha1"
	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/pdns"
	"sigs.k8s.io/external-dns/registry"
	"sigs.k8s.io/external-dns/registry/txt"
)

var endpoints = v1alpha1.GroupVersion.WithResource("dnsendpoints")

func main() {
	cfg := externaldns.NewConfig()
	if err := cfg.ParseFlags(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
	if level, err := log.ParseLevel(cfg.LogLevel); err == nil {
		log.SetLevel(level)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, cfg); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, cfg *externaldns.Config) error {
	rest, err := clientcmd.BuildConfigFromFlags("", cfg.KubeConfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(rest)
	if err != nil {
		return err
	}
	domains := endpoint.NewDomainFilterWithOptions(
		endpoint.WithDomainFilter(cfg.DomainFilter), endpoint.WithDomainExclude(cfg.DomainExclude))
	server, err := pdns.New(ctx, cfg, domains)
	if err != nil {
		return err
	}
	owned, err := txt.New(cfg, server)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 10*time.Hour)
	informer := factory.ForResource(endpoints)
	changed := make(chan struct{}, 1)
	if _, err := informer.Informer().AddEventHandler(onChange(cfg.UpdateEvents, changed)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return errors.New("the list of DNSEndpoints did not come")
	}
	log.Infof("external-dns %s: DNSEndpoints to records of %s", externaldns.Version, cfg.PDNSServer)
	sync := &syncer{cfg: cfg, client: client, lister: informer.Lister(), registry: owned, domains: domains}
	return sync.forever(ctx, changed)
}

func onChange(listens bool, changed chan<- struct{}) cache.ResourceEventHandler {
	note := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if !listens {
		note = func() {}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { note() }, UpdateFunc: func(_, _ any) { note() }, DeleteFunc: func(any) { note() },
	}
}

type syncer struct {
	cfg      *externaldns.Config
	client   dynamic.Interface
	lister   cache.GenericLister
	registry registry.Registry
	domains  *endpoint.DomainFilter
}

// forever brings the records in line now, after each interval, and after each change that it is told about. A fault
// that a later try may find gone is logged, as in the module; any other ends the program.
func (s *syncer) forever(ctx context.Context, changed <-chan struct{}) error {
	for {
		began := time.Now()
		if err := s.once(ctx); errors.Is(err, provider.SoftError) {
			log.Errorf("records not in line: %v", err)
		} else if err != nil {
			return err
		}
		interval := time.NewTimer(time.Until(began.Add(s.cfg.Interval)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-interval.C:
		case <-changed:
			interval.Reset(time.Until(began.Add(s.cfg.MinEventSyncInterval)))
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-interval.C:
			}
		}
	}
}

func (s *syncer) once(ctx context.Context) error {
	current, err := s.registry.Records(ctx)
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, provider.RecordsContextKey, current)
	wanted, err := s.wanted(ctx)
	if err != nil {
		return err
	}
	if wanted, err = s.registry.AdjustEndpoints(wanted); err != nil {
		return fmt.Errorf("adjusting endpoints: %w", err)
	}
	change := (&plan.Plan{
		Policies:       []plan.Policy{plan.Policies[s.cfg.Policy]},
		Current:        current,
		Desired:        wanted,
		DomainFilter:   endpoint.MatchAllDomainFilters{s.domains, s.registry.GetDomainFilter()},
		ManagedRecords: s.cfg.ManagedDNSRecordTypes,
		ExcludeRecords: s.cfg.ExcludeDNSRecordTypes,
		OwnerID:        s.registry.OwnerID(),
	}).Calculate()
	if !change.Changes.HasChanges() {
		return nil
	}
	return s.registry.ApplyChanges(ctx, change.Changes)
}

// wanted returns what all DNSEndpoints ask for, and notes in each that its present state has been seen.
func (s *syncer) wanted(ctx context.Context) ([]*endpoint.Endpoint, error) {
	objects, err := s.lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var all []*endpoint.Endpoint
	for _, object := range objects {
		found := object.(*unstructured.Unstructured)
		one, err := read(found)
		if err != nil {
			return nil, fmt.Errorf("DNSEndpoint %s/%s: %w", found.GetNamespace(), found.GetName(), err)
		}
		for _, each := range one.Spec.Endpoints {
			if each != nil {
				each.WithLabel(endpoint.ResourceLabelKey, fmt.Sprintf("crd/%s/%s", one.Namespace, one.Name))
				all = append(all, each)
			}
		}
		if one.Status.ObservedGeneration != one.Generation {
			s.observed(ctx, found)
		}
	}
	return endpoint.MergeEndpoints(all), nil
}

// read goes by way of JSON: the usual converter panics on the private fields of an endpoint.
func read(found *unstructured.Unstructured) (*v1alpha1.DNSEndpoint, error) {
	raw, err := found.MarshalJSON()
	if err != nil {
		return nil, err
	}
	one := &v1alpha1.DNSEndpoint{}
	return one, json.Unmarshal(raw, one)
}

func (s *syncer) observed(ctx context.Context, found *unstructured.Unstructured) {
	change := fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, found.GetGeneration())
	_, err := s.client.Resource(endpoints).Namespace(found.GetNamespace()).Patch(
		ctx, found.GetName(), "application/merge-patch+json", change, metav1.PatchOptions{}, "status")
	if err != nil {
		log.Warnf("status of DNSEndpoint %s/%s: %v", found.GetNamespace(), found.GetName(), err)
	}
}

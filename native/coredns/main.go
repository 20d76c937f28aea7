// CoreDNS with the plugins that a lab uses, and no others: the full set links cloud clients, and compiles three
// times as long.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

func main() {
	// The order in which plugins see a query, whatever the order in the Corefile; it is the order of plugin.cfg.
	dnsserver.Directives = []string{
		"reload", "bind", "ready", "health", "errors", "log", "cache", "hosts", "kubernetes", "loop", "forward",
	}
	coremain.Run()
}

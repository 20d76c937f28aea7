// The program that holds a pod's namespaces: it waits for ever, and takes up children whose parents have ended.
package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

func main() {
	told := make(chan os.Signal, 16)
	signal.Notify(told, unix.SIGCHLD, unix.SIGTERM, unix.SIGINT)
	for what := range told {
		if what != unix.SIGCHLD {
			return
		}
		for {
			// Where pods share a pid namespace, this process is its first one.
			if ended, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || ended <= 0 {
				break
			}
		}
	}
}

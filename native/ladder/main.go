// The ladder: an origin that answers as it is told, and a client that tells what became of an answer on its way. Whatever
// stands between the two, a gate compares what the client saw through the edge with what it saw at the origin itself.
//
//	ladder serve -listen ADDRESS          the origin: HTTP/1.1, HTTP/2 without TLS, gRPC and WebSocket at one port
//	ladder climb -target FILE < rungs     the client: one JSON rung a line in, one JSON sight a line out, in their order
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

var version = "dev" // set by the linker

func main() {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	if len(os.Args) < 2 {
		usage()
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	switch os.Args[1] {
	case "serve":
		listen := flags.String("listen", "127.0.0.1:9700", "address of the origin")
		_ = flags.Parse(os.Args[2:])
		log.Fatal(serve(*listen))
	case "climb":
		file := flags.String("target", "", "JSON file: address, host, TLS and root")
		at := flags.Int("at-once", 4, "rungs that are climbed at the same time")
		_ = flags.Parse(os.Args[2:])
		if err := climb(*file, *at, os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
	case "-version", "--version", "version":
		fmt.Println("ladder", version)
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: ladder serve -listen ADDRESS | ladder climb -target FILE | ladder -version")
	os.Exit(2)
}

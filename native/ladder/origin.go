package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
)

const (
	received = "X-Edgegate-Received"
	demanded = "X-Edgegate-Answer"
)

func serve(listen string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/answer/", guarded(answer))
	mux.HandleFunc("/events/", guarded(events))
	// Any Origin header is fine: nobody is logged in here.
	mux.Handle("/echo/", websocket.Server{Handler: echoSocket})
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	calls := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(echoCalls))
	server := &http.Server{
		Addr:              listen,
		ReadHeaderTimeout: 10 * time.Second,
		Protocols:         new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				calls.ServeHTTP(w, r)
				return
			}
			mux.ServeHTTP(w, r)
		}),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	log.Printf("origin of the ladder at %s", listen)
	return server.ListenAndServe()
}

// guarded reads the whole request first, because net/http drops what is unread when an answer begins, and says in the
// answer what it was.
func guarded(then func(http.ResponseWriter, *http.Request, Answer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		wanted, err := answerOf(r.Header.Get(demanded))
		if err != nil {
			http.Error(w, demanded+": "+err.Error(), http.StatusBadRequest)
			return
		}
		digest := sha256.New()
		length, err := io.Copy(digest, r.Body)
		if err != nil {
			log.Printf("%s %s: the request broke off: %v", r.Method, r.URL.Path, err)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set(received, fmt.Sprintf("%s length=%d declared=%d sha256=%x%s",
			r.Method, length, r.ContentLength, digest.Sum(nil), trailersOf(r)))
		then(w, r, wanted)
	}
}

func answerOf(header string) (wanted Answer, err error) {
	text, err := base64.RawURLEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(text, &wanted)
	}
	return wanted, err
}

func trailersOf(r *http.Request) string {
	var told []string
	for name, values := range r.Trailer {
		told = append(told, fmt.Sprintf(" trailer:%s=%s", strings.ToLower(name), strings.Join(values, ",")))
	}
	slices.Sort(told)
	return strings.Join(told, "")
}

func answer(w http.ResponseWriter, r *http.Request, wanted Answer) {
	body, err := bytesOf(wanted.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	header := w.Header()
	for name, value := range wanted.Headers {
		header.Set(name, value)
	}
	if wanted.Body.Type != "" {
		header.Set("Content-Type", contentType(wanted.Body.Type))
	}
	if encoding := wanted.Body.Encoding; encoding != "" && encoding != "identity" {
		header.Set("Content-Encoding", encoding)
	}
	if wanted.Cached {
		header.Set("Etag", fmt.Sprintf(`"%x"`, sha256.Sum256(body)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
		return
	}
	bodyless := wanted.Status == http.StatusNoContent || wanted.Status == http.StatusNotModified
	if !wanted.Body.Chunked && !bodyless {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	for name := range wanted.Body.Trailers {
		header.Add("Trailer", name)
	}
	w.WriteHeader(max(wanted.Status, http.StatusContinue+100))
	if r.Method == http.MethodHead || bodyless {
		return
	}
	if wanted.Body.Chunked {
		// A flush in between keeps net/http from adding the length of a short body by itself.
		_ = http.NewResponseController(w).Flush()
	}
	if _, err := w.Write(body); err != nil {
		log.Printf("%s: the answer broke off: %v", r.URL.Path, err)
	}
	for name, value := range wanted.Body.Trailers {
		header.Set(name, value)
	}
}

// events sends server-sent events, the first at once.
func events(w http.ResponseWriter, r *http.Request, wanted Answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	for number := range wanted.Events {
		if number > 0 {
			select {
			case <-time.After(time.Duration(wanted.Interval) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "data: event %d\n\n", number)
		_ = http.NewResponseController(w).Flush()
	}
}

func echoSocket(socket *websocket.Conn) {
	for {
		var message string
		if err := websocket.Message.Receive(socket, &message); err != nil {
			return
		}
		if err := websocket.Message.Send(socket, message); err != nil {
			return
		}
	}
}

func echoCalls(_ any, stream grpc.ServerStream) error {
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&message); err != nil {
			return err
		}
	}
}

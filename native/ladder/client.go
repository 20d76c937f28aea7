package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const shownText = 400 // bytes of an answer that is not the origin's

// Target is whom the client asks.
type Target struct {
	// Host and port that are connected to.
	Address string `json:"address"`
	// Name in Host and SNI.
	Host string `json:"host"`
	// Whether TLS is spoken, and the PEM file of the root that is trusted.
	TLS  bool   `json:"tls"`
	Root string `json:"root"`

	trust *tls.Config
}

func climb(file string, atOnce int, in io.Reader, out io.Writer) error {
	target, err := load(file)
	if err != nil {
		return err
	}
	rungs, err := read(in)
	if err != nil {
		return err
	}
	sights := make([]Sight, len(rungs))
	free := make(chan struct{}, max(atOnce, 1))
	var under sync.WaitGroup
	for number := range rungs {
		free <- struct{}{}
		under.Go(func() {
			sights[number] = target.look(&rungs[number])
			<-free
		})
	}
	under.Wait()
	writer := json.NewEncoder(out)
	for _, sight := range sights {
		if err := writer.Encode(sight); err != nil {
			return err
		}
	}
	return nil
}

func load(file string) (*Target, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	target := &Target{}
	if err := json.Unmarshal(text, target); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !target.TLS {
		return target, nil
	}
	pem, err := os.ReadFile(target.Root)
	if err != nil {
		return nil, err
	}
	target.trust = &tls.Config{ServerName: target.Host, RootCAs: x509.NewCertPool()}
	if !target.trust.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", target.Root)
	}
	return target, nil
}

func read(in io.Reader) ([]Rung, error) {
	var rungs []Rung
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	for {
		var rung Rung
		if err := decoder.Decode(&rung); errors.Is(err, io.EOF) {
			return rungs, nil
		} else if err != nil {
			return nil, fmt.Errorf("rung %d: %w", len(rungs)+1, err)
		}
		rungs = append(rungs, rung)
	}
}

// look climbs one rung; whatever goes wrong is part of what is seen.
func (t *Target) look(rung *Rung) Sight {
	ctx, cancel := context.WithTimeout(context.Background(), rung.limit())
	defer cancel()
	sight := Sight{Name: rung.Name, Declared: -1}
	var err error
	switch rung.Kind {
	case "grpc":
		err = t.call(ctx, rung, &sight)
	case "websocket":
		err = t.talk(ctx, rung, &sight)
	default:
		err = t.ask(ctx, rung, &sight)
	}
	if err != nil {
		sight.Error = err.Error()
	}
	return sight
}

func (t *Target) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", t.Address)
}

// ask makes one request on a connection of its own: a connection that a proxy has closed must not harm the next rung.
func (t *Target) ask(ctx context.Context, rung *Rung, sight *Sight) error {
	request, err := t.request(ctx, rung)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		DialContext:        t.dial,
		DisableCompression: true,
		// A transport adds its own protocols to the configuration that it is given.
		TLSClientConfig: t.trust.Clone(),
		Protocols:       new(http.Protocols),
	}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetHTTP1(rung.Version != 2)
	transport.Protocols.SetHTTP2(rung.Version == 2 && t.TLS)
	transport.Protocols.SetUnencryptedHTTP2(rung.Version == 2 && !t.TLS)
	began := time.Now()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	sight.Headed = time.Since(began).Seconds()
	sight.Status, sight.Declared = answer.StatusCode, answer.ContentLength
	sight.Headers, sight.Received = flat(answer.Header), answer.Header.Get(received)
	err = sight.take(answer.Body, began)
	sight.Trailers = flat(answer.Trailer)
	return err
}

func (s *Sight) take(body io.Reader, began time.Time) error {
	digest, first := sha256.New(), make([]byte, 1)
	read, err := io.ReadFull(body, first)
	if err == nil {
		s.First = time.Since(began).Seconds()
	}
	var shown bytes.Buffer
	all := io.MultiReader(bytes.NewReader(first[:read]), body)
	if !errors.Is(err, io.EOF) && err != nil {
		return err
	}
	sink := io.Writer(digest)
	if s.Received == "" {
		sink = io.MultiWriter(digest, &limited{&shown})
	}
	s.Length, err = io.Copy(sink, all)
	s.Ended = time.Since(began).Seconds()
	s.SHA256, s.Text = fmt.Sprintf("%x", digest.Sum(nil)), shown.String()
	return err
}

// limited keeps the first bytes and swallows the rest.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(text []byte) (int, error) {
	l.to.Write(text[:min(len(text), max(0, shownText-l.to.Len()))])
	return len(text), nil
}

func (t *Target) request(ctx context.Context, rung *Rung) (*http.Request, error) {
	wanted, err := json.Marshal(rung.Answer)
	if err != nil {
		return nil, err
	}
	scheme := map[bool]string{true: "https", false: "http"}[t.TLS]
	place := url.URL{Scheme: scheme, Host: t.Host, Path: rung.Path}
	request, err := http.NewRequestWithContext(ctx, rung.Method, place.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(demanded, base64.RawURLEncoding.EncodeToString(wanted))
	request.Header.Set("User-Agent", "Mozilla/5.0 (edgegate ladder)")
	request.Header.Set("Accept", "*/*")
	if rung.Body != nil {
		if err := fill(request, *rung.Body); err != nil {
			return nil, err
		}
	}
	for name, value := range rung.Headers {
		request.Header.Set(name, value)
	}
	return request, nil
}

func fill(request *http.Request, body Body) error {
	content, err := bytesOf(body)
	if err != nil {
		return err
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	if body.Chunked {
		request.ContentLength = -1
	} else if len(content) == 0 {
		request.Body = http.NoBody
	}
	request.Header.Set("Content-Type", contentType(body.Type))
	if body.Encoding != "" && body.Encoding != "identity" {
		request.Header.Set("Content-Encoding", body.Encoding)
	}
	if len(body.Trailers) > 0 {
		request.Trailer = http.Header{}
		for name, value := range body.Trailers {
			request.Trailer.Set(name, value)
		}
	}
	return nil
}

func (t *Target) talk(ctx context.Context, rung *Rung, sight *Sight) error {
	config, err := websocket.NewConfig("ws://"+t.Host+rung.Path, "http://"+t.Host)
	if err != nil {
		return err
	}
	began := time.Now()
	connection, err := t.dial(ctx, "", "")
	if err != nil {
		return err
	}
	defer connection.Close()
	deadline, _ := ctx.Deadline()
	_ = connection.SetDeadline(deadline)
	if t.TLS {
		trust := t.trust.Clone()
		trust.NextProtos = []string{"http/1.1"}
		connection = tls.Client(connection, trust)
	}
	socket, err := websocket.NewClient(config, connection)
	if err != nil {
		return err
	}
	sight.Status, sight.Headed = http.StatusSwitchingProtocols, time.Since(began).Seconds()
	for _, message := range rung.Messages {
		var back string
		if err := websocket.Message.Send(socket, message); err != nil {
			return err
		}
		if err := websocket.Message.Receive(socket, &back); err != nil {
			return err
		}
		sight.hear(back, began)
	}
	return nil
}

func (t *Target) call(ctx context.Context, rung *Rung, sight *Sight) error {
	trust := insecure.NewCredentials()
	if t.TLS {
		trust = credentials.NewTLS(t.trust.Clone())
	}
	client, err := grpc.NewClient("passthrough:///"+t.Address,
		grpc.WithTransportCredentials(trust), grpc.WithAuthority(t.Host), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
	if err != nil {
		return err
	}
	defer client.Close()
	began := time.Now()
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := client.NewStream(ctx, both, rung.Path)
	if err != nil {
		return err
	}
	for _, message := range rung.Messages {
		content := []byte(message)
		if err := stream.SendMsg(&content); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var back []byte
		if err := stream.RecvMsg(&back); err != nil {
			return err
		}
		sight.hear(string(back), began)
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	var more []byte
	if err := stream.RecvMsg(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream did not end: %v", err)
	}
	sight.Status = http.StatusOK
	return nil
}

func (s *Sight) hear(message string, began time.Time) {
	if len(s.Messages) == 0 {
		s.First = time.Since(began).Seconds()
	}
	s.Messages = append(s.Messages, message)
	s.Ended = time.Since(began).Seconds()
}

func flat(header http.Header) map[string]string {
	plain := map[string]string{}
	for name, values := range header {
		plain[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return plain
}

package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/corazawaf/coraza/v3/types"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	request  = 0
	response = 1
)

// stream is one request and its response. Nothing in it is trusted to come, or to come in order: Envoy's own replies
// pass without a request before them, and a client may go away at any time.
type stream struct {
	*service
	ctx      context.Context
	engine   *engine
	tx       types.Transaction // nil: nothing is inspected
	budget   *budget
	matches  *matches
	protocol string
	text     bool // the request's body is no file upload
	halves   [2]half
	verdict  Verdict
}

// half is one direction.
type half struct {
	mode filter.ProcessingMode_BodySendMode
	held []answer
	// size is how many bytes came, waiting how many of them the gate counts as held: until they are sent.
	size, waiting int64
	open          bool // the verdict is known, or there is none to wait for
}

var lastID atomic.Int64

// Process serves one stream. A defect ends that stream alone; Envoy then answers as the policy's failOpen says.
func (s *service) Process(connection pb.ExternalProcessor_ProcessServer) (err error) {
	st := &stream{service: s, ctx: connection.Context()}
	s.counts.streams.Add(1)
	defer s.counts.streams.Add(-1)
	defer func() {
		if found := recover(); found != nil {
			s.counts.panics.Add(1)
			log.Printf("stream ended: %v\n%s", found, debug.Stack())
			err = status.Error(codes.Internal, "the firewall failed on this request")
		}
	}()
	defer st.close()
	for {
		in, err := connection.Recv()
		if err != nil {
			return nil
		}
		ready := st.handle(in)
		for i, out := range ready {
			ready[i] = nil // so that it can go when it is sent, not when all are
			if connection.Send(out) != nil || out.GetImmediateResponse() != nil {
				return nil
			}
			st.sent(out)
		}
	}
}

func (st *stream) handle(in *pb.ProcessingRequest) []answer {
	if modes := in.GetProtocolConfig(); modes != nil {
		st.halves[request].mode, st.halves[response].mode = modes.RequestBodyMode, modes.ResponseBodyMode
	}
	switch part := in.Request.(type) {
	case *pb.ProcessingRequest_RequestHeaders:
		if st.engine != nil {
			return nil // a second one: no Envoy does that
		}
		return st.requestHeaders(in, part.RequestHeaders)
	case *pb.ProcessingRequest_ResponseHeaders:
		return st.responseHeaders(part.ResponseHeaders)
	case *pb.ProcessingRequest_RequestBody:
		return st.body(request, part.RequestBody)
	case *pb.ProcessingRequest_ResponseBody:
		return st.body(response, part.ResponseBody)
	case *pb.ProcessingRequest_RequestTrailers:
		return st.end(request, trailers(false))
	case *pb.ProcessingRequest_ResponseTrailers:
		return st.end(response, trailers(true))
	}
	return nil
}

func (st *stream) requestHeaders(in *pb.ProcessingRequest, headers *pb.HttpHeaders) []answer {
	attributes := in.Attributes["envoy.filters.http.ext_proc"].GetFields()
	engine, _ := st.current.Load().engineFor(attributes["xds.route_name"].GetStringValue())
	if engine == nil {
		st.counts.request("/", "refused")
		return []answer{instead(http.StatusServiceUnavailable, "waf_no_policy", "No firewall policy is in force here.\n")}
	}
	st.engine = engine
	if engine.waf == nil {
		return []answer{goOn(false)}
	}
	st.begin(attributes["source.address"].GetStringValue(), attributes["request.protocol"].GetStringValue())
	defaults := st.readHeaders(headers.GetHeaders().GetHeaders())
	if st.has(streamsHeld) {
		defaults.endless = false
	}
	// What has no end, or cannot be read, is not waited for.
	now := headers.GetEndOfStream() || defaults.endless || st.halves[request].mode == off
	if defaults.endless && !headers.GetEndOfStream() {
		st.skipped("stream")
	}
	stop, err := st.evaluate(func() (*types.Interruption, error) {
		if found := st.tx.ProcessRequestHeaders(); found != nil || !now {
			return found, nil
		}
		return st.tx.ProcessRequestBody()
	})
	if refusal := st.judge(request, stop, err); refusal != nil {
		return refusal
	}
	out := goOn(false)
	if st.halves[request].mode != duplex && st.halves[response].mode != duplex {
		out.ModeOverride = st.modes(defaults.endless, off)
	}
	st.halves[request].open = st.halves[request].open || now
	return st.hold(request, out, 0)
}

// modes asks Envoy for the response's headers, without which it would not send them, and for bodies as far as needed.
func (st *stream) modes(endless bool, body filter.ProcessingMode_BodySendMode) *filter.ProcessingMode {
	wanted := &filter.ProcessingMode{
		RequestBodyMode:     st.halves[request].mode,
		ResponseHeaderMode:  filter.ProcessingMode_SEND,
		ResponseBodyMode:    body,
		RequestTrailerMode:  filter.ProcessingMode_SKIP,
		ResponseTrailerMode: filter.ProcessingMode_SKIP,
	}
	if endless {
		wanted.RequestBodyMode = off
	}
	return wanted
}

func (st *stream) begin(source, protocol string) {
	st.tx = st.engine.waf.NewTransactionWithID(strconv.FormatInt(lastID.Add(1), 10))
	st.budget = &budget{left: st.gate.limits.time}
	st.matches = &matches{ids: []int{}}
	budgets.Store(st.tx.ID(), st.budget)
	noted.Store(st.tx.ID(), st.matches)
	host, port := "127.0.0.1", 0
	if found, text, err := net.SplitHostPort(source); err == nil {
		host, port = found, number(text)
	}
	st.protocol = protocol
	if protocol == "" {
		st.protocol = "HTTP/1.1"
	}
	st.tx.ProcessConnection(host, port, "127.0.0.1", 80)
	st.text = true
	st.verdict.Verdict = "passed"
}

type traits struct{ endless bool }

// readHeaders gives the request's headers to the rules, as the client sent them: without those that Envoy adds.
func (st *stream) readHeaders(headers []*core.HeaderValue) traits {
	var method, path, authority string
	found := traits{}
	for _, header := range headers {
		value := valueOf(header)
		switch key := header.Key; {
		case key == ":method":
			method = value
		case key == ":path":
			path = value
		case key == ":authority":
			authority = value
			st.tx.AddRequestHeader("Host", value)
		case strings.HasPrefix(key, ":") || key == "x-request-id" || key == "x-forwarded-proto":
		case strings.HasPrefix(key, "x-envoy-"):
		case key == st.verdicts.header:
			st.verdict.Case = value
			st.matches.keepText = strings.HasSuffix(value, ".log")
		default:
			kind := strings.ToLower(value)
			found.endless = found.endless || key == "upgrade" ||
				key == "content-type" && strings.HasPrefix(kind, "application/grpc")
			if key == "content-type" && strings.HasPrefix(strings.TrimSpace(kind), "multipart/form-data") {
				st.text = false
			}
			st.tx.AddRequestHeader(key, value)
		}
	}
	if path == "" {
		path = authority // CONNECT
	}
	found.endless = found.endless || method == http.MethodConnect
	st.tx.SetServerName(authority)
	st.tx.ProcessURI(path, method, st.protocol)
	return found
}

func (st *stream) responseHeaders(headers *pb.HttpHeaders) []answer {
	if st.tx == nil {
		return []answer{goOn(true)}
	}
	code, encoded := 200, false
	for _, header := range headers.GetHeaders().GetHeaders() {
		value := valueOf(header)
		if header.Key == ":status" {
			code = number(value)
			continue
		}
		encoded = encoded || header.Key == "content-encoding" && value != "identity"
		st.tx.AddResponseHeader(header.Key, value)
	}
	inspect := false
	stop, err := st.evaluate(func() (*types.Interruption, error) {
		if found := st.tx.ProcessResponseHeaders(code, st.protocol); found != nil {
			return found, nil
		}
		processable := st.tx.IsResponseBodyProcessable() || st.has(streamsHeld)
		inspect = !headers.GetEndOfStream() && st.tx.IsResponseBodyAccessible() && processable
		if inspect && encoded {
			st.skipped("encoded")
			inspect = false
		}
		if inspect {
			return nil, nil
		}
		return st.tx.ProcessResponseBody()
	})
	if refusal := st.judge(response, stop, err); refusal != nil {
		return refusal
	}
	out, h := goOn(true), &st.halves[response]
	h.open = h.open || !inspect
	if h.mode != duplex && inspect && !h.open {
		// Only now is it known that the body is wanted. To ask for it first and then not to want it loses a race.
		h.mode = buffered
		out.ModeOverride = st.modes(false, buffered)
	}
	return st.hold(response, out, 0)
}

func valueOf(header *core.HeaderValue) string {
	if len(header.RawValue) > 0 {
		return string(header.RawValue)
	}
	return header.Value
}

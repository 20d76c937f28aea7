package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
)

const attack = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"

// testService returns a service with policies a/enforce, a/observe and a/off on routes of the same names.
func testService(t *testing.T, l limits, fault string) *service {
	t.Helper()
	folder := os.Getenv("EDGEGATE_RULES")
	if folder == "" {
		t.Skip("EDGEGATE_RULES is not set: the folder `rules` of a coraza-coreruleset module")
	}
	rules, err := loadRules(folder)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := readFaults(fault)
	if err != nil {
		t.Fatal(err)
	}
	s := newService(rules, newGate(l), &verdicts{}, faults)
	put(t, s, `{"policies": [{"name": "a/enforce", "mode": "Enforce"}, {"name": "a/observe"}, {"name": "a/off", "mode": "Disabled"}],
		"routes": [{"prefix": "enforce", "policy": "a/enforce"}, {"prefix": "observe", "policy": "a/observe"},
			{"prefix": "off", "policy": "a/off"}]}`)
	return s
}

func sound() limits {
	return limits{text: 128 << 10, upload: 1 << 20, held: 8 << 20, time: 10 * time.Second, wait: time.Minute}
}

func put(t *testing.T, s *service, text string) []*Mistake {
	t.Helper()
	c, err := readConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.apply(c)
}

// wire is Envoy's end of a stream.
type wire struct {
	grpc.ServerStream
	ctx  context.Context
	in   []*pb.ProcessingRequest
	out  []*pb.ProcessingResponse
	last error
}

func (w *wire) Context() context.Context { return w.ctx }

func (w *wire) Recv() (*pb.ProcessingRequest, error) {
	if len(w.in) == 0 {
		return nil, w.last
	}
	next := w.in[0]
	w.in = w.in[1:]
	return next, nil
}

func (w *wire) Send(out *pb.ProcessingResponse) error {
	w.out = append(w.out, out)
	return nil
}

func play(t *testing.T, s *service, in ...*pb.ProcessingRequest) *wire {
	t.Helper()
	if len(in) > 0 {
		in[0].ProtocolConfig = &pb.ProtocolConfiguration{RequestBodyMode: duplex, ResponseBodyMode: duplex}
	}
	w := &wire{ctx: context.Background(), in: in, last: io.EOF}
	if err := s.Process(w); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *wire) status() int {
	if len(w.out) == 0 {
		return 0
	}
	return int(w.out[len(w.out)-1].GetImmediateResponse().GetStatus().GetCode())
}

func headers(pairs ...string) *core.HeaderMap {
	all := &core.HeaderMap{}
	for i := 0; i < len(pairs); i += 2 {
		all.Headers = append(all.Headers, &core.HeaderValue{Key: pairs[i], RawValue: []byte(pairs[i+1])})
	}
	return all
}

func ask(route, path string, end bool, more ...string) *pb.ProcessingRequest {
	fields, _ := structpb.NewStruct(map[string]any{"xds.route_name": route, "source.address": "192.0.2.1:7"})
	pairs := append([]string{":method", "POST", ":path", path, ":authority", "host.test", "user-agent", "test", "accept", "*/*"}, more...)
	return &pb.ProcessingRequest{
		Attributes: map[string]*structpb.Struct{"envoy.filters.http.ext_proc": fields},
		Request: &pb.ProcessingRequest_RequestHeaders{
			RequestHeaders: &pb.HttpHeaders{Headers: headers(pairs...), EndOfStream: end},
		},
	}
}

func content(text string, end bool) *pb.ProcessingRequest {
	return &pb.ProcessingRequest{Request: &pb.ProcessingRequest_RequestBody{
		RequestBody: &pb.HttpBody{Body: []byte(text), EndOfStream: end},
	}}
}

func reply(kind string, end bool) *pb.ProcessingRequest {
	return &pb.ProcessingRequest{Request: &pb.ProcessingRequest_ResponseHeaders{
		ResponseHeaders: &pb.HttpHeaders{Headers: headers(":status", "200", "content-type", kind), EndOfStream: end},
	}}
}

func replied(text string, end bool) *pb.ProcessingRequest {
	return &pb.ProcessingRequest{Request: &pb.ProcessingRequest_ResponseBody{
		ResponseBody: &pb.HttpBody{Body: []byte(text), EndOfStream: end},
	}}
}

// forwarded is the response's content as Envoy would send it on.
func (w *wire) forwarded() string {
	text := ""
	for _, out := range w.out {
		text += string(out.GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse().GetBody())
	}
	return text
}

const form = "application/x-www-form-urlencoded"

func TestModes(t *testing.T) {
	s := testService(t, sound(), "")
	for route, want := range map[string]int{"enforce": 403, "observe": 0, "off": 0, "unknown": 503} {
		if w := play(t, s, ask(route, attack, true)); w.status() != want {
			t.Errorf("%s: an attack got %d, want %d", route, w.status(), want)
		}
	}
	if w := play(t, s, ask("enforce", "/", true)); w.status() != 0 || len(w.out) != 1 {
		t.Errorf("a harmless request got %v", w.out)
	}
	if w := play(t, s, ask("enforce", "/", false, "content-type", form), content("a=<script>alert(1)</script>", true)); w.status() != 403 {
		t.Errorf("an attack in the body got %d", w.status())
	}
}

func TestNothingLeavesBeforeTheVerdict(t *testing.T) {
	s := testService(t, sound(), "")
	w := play(t, s, ask("enforce", "/", false, "content-type", form), content("a=1&", false))
	if len(w.out) != 0 {
		t.Errorf("the origin would have got %v", w.out)
	}
	if s.gate.held.Load() != 0 {
		t.Errorf("%d bytes are held after the client went away", s.gate.held.Load())
	}
}

func TestResponseIsTheSame(t *testing.T) {
	text := strings.Repeat("harmless ", 200_000)
	for _, kind := range []string{"text/html", "image/png", "text/event-stream"} {
		s := testService(t, sound(), "")
		w := play(t, s, ask("enforce", "/", true), reply(kind, false), replied(text[:100], false), replied(text[100:], true))
		if w.forwarded() != text {
			t.Errorf("%s: %d bytes of %d came", kind, len(w.forwarded()), len(text))
		}
	}
}

func TestLeakIsBlocked(t *testing.T) {
	s := testService(t, sound(), "")
	leak := "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version"
	w := play(t, s, ask("enforce", "/", true), reply("text/html", false), replied("<html>", false), replied(leak, true))
	if w.status() != 403 || w.forwarded() != "" {
		t.Errorf("got %d with %q", w.status(), w.forwarded())
	}
}

func TestHostileStreams(t *testing.T) {
	s := testService(t, sound(), "")
	for name, in := range map[string][]*pb.ProcessingRequest{
		"nothing":                  {},
		"empty message":            {{}},
		"local reply":              {reply("text/plain", true)},
		"local reply with body":    {reply("text/plain", false), replied("no route", true)},
		"body first":               {content("x", true)},
		"response first":           {replied("x", true)},
		"headers twice":            {ask("enforce", "/", false), ask("enforce", "/", true)},
		"no headers":               {{Request: &pb.ProcessingRequest_RequestHeaders{}}},
		"no response headers":      {ask("enforce", "/", true), {Request: &pb.ProcessingRequest_ResponseHeaders{}}},
		"no body":                  {ask("enforce", "/", false), {Request: &pb.ProcessingRequest_RequestBody{}}},
		"response before the body": {ask("enforce", "/", false), reply("text/html", false), replied("x", true)},
		"broken multipart": {
			ask("enforce", "/", false, "content-type", "multipart/form-data; boundary=\"\x00"), content("--\x00\r\n", true),
		},
		"broken JSON": {ask("enforce", "/", false, "content-type", "application/json"), content(strings.Repeat("[", 9000), true)},
		"broken XML":  {ask("enforce", "/", false, "content-type", "text/xml"), content("<!DOCTYPE a [<!ENTITY b '", true)},
	} {
		play(t, s, in...)
		if s.counts.panics.Load() != 0 {
			t.Fatalf("%s: panic", name)
		}
	}
	if w := play(t, s, ask("enforce", attack, true)); w.status() != 403 {
		t.Errorf("after all that an attack got %d", w.status())
	}
}

func TestDefectEndsItsStreamAlone(t *testing.T) {
	s := testService(t, sound(), "")
	w := &wire{ctx: nil, in: []*pb.ProcessingRequest{ask("enforce", "/", true)}, last: errors.New("gone")}
	if err := s.Process(w); err == nil || s.counts.panics.Load() != 1 {
		t.Fatalf("want one counted panic and an error, got %v and %d", err, s.counts.panics.Load())
	}
	if w := play(t, s, ask("enforce", attack, true)); w.status() != 403 {
		t.Errorf("afterwards an attack got %d", w.status())
	}
}

func TestSizeLimits(t *testing.T) {
	s := testService(t, sound(), "")
	part := "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\nContent-Type: image/png\r\n\r\n"
	for _, one := range []struct {
		name, route, kind, text string
		want                    int
	}{
		{"form at the limit", "enforce", form, "a=" + strings.Repeat("x", 128<<10-2), 0},
		{"form over it", "enforce", form, "a=" + strings.Repeat("x", 128<<10-1), 413},
		{"form over it, observed", "observe", form, "a=" + strings.Repeat("x", 1<<20), 0},
		{"upload", "enforce", "multipart/form-data; boundary=B", part + strings.Repeat("x", 512<<10) + "\r\n--B--\r\n", 0},
		{"big upload", "enforce", "multipart/form-data; boundary=B", part + strings.Repeat("x", 2<<20) + "\r\n--B--\r\n", 413},
	} {
		if w := play(t, s, ask(one.route, "/", false, "content-type", one.kind), content(one.text, true)); w.status() != one.want {
			t.Errorf("%s: got %d, want %d", one.name, w.status(), one.want)
		}
	}
}

func TestTimeIsBounded(t *testing.T) {
	l := sound()
	l.time = 50 * time.Millisecond
	s := testService(t, l, "")
	text := "a=" + strings.Repeat("select+1+", 12_000) // a second and more of work
	for route, want := range map[string]int{"enforce": 503, "observe": 0} {
		start := time.Now()
		w := play(t, s, ask(route, "/", false, "content-type", form), content(text, true))
		if took := time.Since(start); w.status() != want || took > 10*time.Second {
			t.Errorf("%s: %d after %s, want %d soon", route, w.status(), took, want)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	l := sound()
	l.held = 1000
	s := testService(t, l, "")
	w := play(t, s, ask("enforce", "/", false, "content-type", form), content(strings.Repeat("a", 2000), false))
	if w.status() != 503 || s.gate.held.Load() != 0 {
		t.Errorf("got %d, %d bytes still counted", w.status(), s.gate.held.Load())
	}
}

func TestBytesAreCountedUntilTheyAreSent(t *testing.T) {
	s := testService(t, sound(), "")
	in := []*pb.ProcessingRequest{ask("enforce", "/", true), reply("text/html", false)}
	for range 4 {
		in = append(in, replied(strings.Repeat("x", 1000), false))
	}
	in[0].ProtocolConfig = &pb.ProtocolConfiguration{RequestBodyMode: duplex, ResponseBodyMode: duplex}
	w := &counted{wire: wire{ctx: context.Background(), in: append(in, replied("x", true)), last: io.EOF}, gate: s.gate}
	if err := s.Process(w); err != nil {
		t.Fatal(err)
	}
	// Headers of the request, headers of the response, four parts that waited, and the last one, which did not.
	if want := []int64{0, 4000, 4000, 3000, 2000, 1000, 0}; !slices.Equal(w.seen, want) {
		t.Errorf("held at each answer: %v, want %v", w.seen, want)
	}
}

// counted notes what is held when an answer is sent.
type counted struct {
	wire
	gate *gate
	seen []int64
}

func (c *counted) Send(out *pb.ProcessingResponse) error {
	c.seen = append(c.seen, c.gate.held.Load())
	return c.wire.Send(out)
}

func TestBadDirectiveStaysWithItsPolicy(t *testing.T) {
	s := testService(t, sound(), "")
	text := func(mode, own string) string {
		return `{"policies": [{"name": "a/enforce", "generation": 2, "mode": "` + mode + `"}, {"name": "a/observe", "generation": 2,
			"mode": "Enforce", "directives": "` + own + `"}],
			"routes": [{"prefix": "enforce", "policy": "a/enforce"}, {"prefix": "observe", "policy": "a/observe"}]}`
	}
	bad := `# ours\nSecAction \\\n \"id:1001,phase:1,pass,nolog\"\n\nSecAction \"id:1,setvar:foo\"`
	found := put(t, s, text("Observe", bad))
	if len(found) != 1 || found[0].Policy != "a/observe" || found[0].Line != 5 || !strings.Contains(found[0].Directive, "setvar:foo") {
		t.Fatalf("got %v", found)
	}
	if w := play(t, s, ask("observe", attack, true)); w.status() != 0 {
		t.Errorf("the refused policy must stay as it was, an attack got %d", w.status())
	}
	if w := play(t, s, ask("enforce", attack, true)); w.status() != 0 {
		t.Errorf("the other policy must change, an attack got %d", w.status())
	}
	if found = put(t, s, text("Observe", `SecAction \"id:1001,phase:1,pass,nolog\"`)); len(found) != 0 {
		t.Fatalf("got %v", found)
	}
	if w := play(t, s, ask("observe", attack, true)); w.status() != 403 {
		t.Errorf("the repaired policy enforces, an attack got %d", w.status())
	}
}

func TestExclusionsStayWithTheirPolicy(t *testing.T) {
	text := `{"policies": [{"name": "a/one", "mode": "Enforce"}, {"name": "a/two", "mode": "Enforce",
		"ruleExclusions": {"tags": ["attack-xss"], "ids": [949110], "idRanges": ["941000-941999"]}}],
		"routes": [{"prefix": "one", "policy": "a/one"}, {"prefix": "two", "policy": "a/two"}]}`
	for fault, want := range map[string]int{"": 403, sharedExcludes: 0} {
		s := testService(t, sound(), fault)
		put(t, s, text)
		if w := play(t, s, ask("two", attack, true)); w.status() != 0 {
			t.Errorf("%q: an excluded rule blocked", fault)
		}
		if w := play(t, s, ask("one", attack, true)); w.status() != want {
			t.Errorf("%q: an attack got %d, want %d", fault, w.status(), want)
		}
	}
}

func TestFaultsShow(t *testing.T) {
	for fault, want := range map[string]int{enforceIgnored: 0, emptyError: 500} {
		if w := play(t, testService(t, sound(), fault), ask("enforce", attack, true)); w.status() != want {
			t.Errorf("%s: an attack got %d, want %d", fault, w.status(), want)
		}
	}
	s := testService(t, sound(), truncatedBody)
	if w := play(t, s, ask("enforce", "/", true), reply("text/html", false), replied("0123456789", true)); w.forwarded() != "01234" {
		t.Errorf("%s: %q came", truncatedBody, w.forwarded())
	}
	s = testService(t, sound(), stalePolicy)
	put(t, s, `{"policies": [{"name": "a/observe", "generation": 9, "mode": "Enforce"}], "routes": [{"prefix": "observe", "policy": "a/observe"}]}`)
	if w := play(t, s, ask("observe", attack, true)); w.status() != 0 {
		t.Errorf("%s: an attack got %d", stalePolicy, w.status())
	}
}

func TestBufferedModeAsksForTheResponseWhenItIsWanted(t *testing.T) {
	s := testService(t, sound(), "")
	first := ask("enforce", "/", true)
	first.ProtocolConfig = &pb.ProtocolConfiguration{RequestBodyMode: buffered}
	w := &wire{ctx: context.Background(), in: []*pb.ProcessingRequest{first, reply("text/html", false)}, last: io.EOF}
	if err := s.Process(w); err != nil {
		t.Fatal(err)
	}
	if got := w.out[0].GetModeOverride().GetResponseHeaderMode(); got != filter.ProcessingMode_SEND {
		t.Errorf("response headers: %v", got)
	}
	if got := w.out[1].GetModeOverride().GetResponseBodyMode(); got != buffered {
		t.Errorf("response body: %v", got)
	}
}

func TestWatchedFileIsApplied(t *testing.T) {
	s := testService(t, sound(), "")
	path := filepath.Join(t.TempDir(), "policies.json")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go s.watch(ctx, path, "", time.Millisecond)
	for _, text := range []string{`{"policies": [{"name": "x/y", "generation": 1, "mode": "Disabled"}]}`, `{"policies": [`} {
		if err := replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	_ = replace(path, []byte(`{"policies": [{"name": "x/y", "generation": 2, "mode": "Disabled"}]}`))
	for end := time.Now().Add(5 * time.Second); s.current.Load().wanted["x/y"] != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not applied")
		}
	}
}

func TestOneNamespaceIsReplaced(t *testing.T) {
	s := testService(t, sound(), "")
	keep := func(Config) error { return nil }
	part, err := readConfig([]byte(`{"policies": [{"name": "b/x", "mode": "Enforce"}], "routes": [{"prefix": "b/", "policy": "b/x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.applyPart("b", part, keep); err != nil {
		t.Fatal(err)
	}
	for _, route := range []string{"enforce", "b/"} {
		if w := play(t, s, ask(route, attack, true)); w.status() != 403 {
			t.Errorf("%s: an attack got %d", route, w.status())
		}
	}
	if err := s.applyPart("a", part, keep); err == nil {
		t.Error("a policy of another namespace was taken")
	}
	if err := s.applyPart("b", Config{}, keep); err != nil {
		t.Fatal(err)
	}
	if w := play(t, s, ask("b/", attack, true)); w.status() != 503 {
		t.Errorf("a route without a policy got %d", w.status())
	}
}

func TestFaultsAreSwitched(t *testing.T) {
	s := testService(t, sound(), "")
	for fault, want := range map[string]int{enforceIgnored: 0, emptyError: 500, "": 403} {
		found, _ := readFaults(fault)
		s.haveFaults(found)
		if w := play(t, s, ask("enforce", attack, true)); w.status() != want {
			t.Errorf("%q: an attack got %d, want %d", fault, w.status(), want)
		}
	}
}

func TestTrailersPass(t *testing.T) {
	s := testService(t, sound(), "")
	up := &pb.ProcessingRequest{Request: &pb.ProcessingRequest_RequestTrailers{RequestTrailers: &pb.HttpTrailers{}}}
	down := &pb.ProcessingRequest{Request: &pb.ProcessingRequest_ResponseTrailers{ResponseTrailers: &pb.HttpTrailers{}}}
	for _, route := range []string{"enforce", "observe", "off"} {
		w := play(t, s, ask(route, "/", false, "content-type", form), content("a=1", false), up,
			reply("text/html", false), replied("page", false), down)
		if len(w.out) != 6 || w.out[2].GetRequestTrailers() == nil || w.out[5].GetResponseTrailers() == nil {
			t.Errorf("%s: %d answers: %v", route, len(w.out), w.out)
		}
	}
}

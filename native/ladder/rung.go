package main

import "time"

// Body says what a body consists of; the same words always give the same bytes.
type Body struct {
	// Bytes before encoding.
	Size int `json:"size"`
	// Content-Type; for multipart/form-data the body is one file part of that size.
	Type string `json:"type"`
	// identity, gzip or br.
	Encoding string `json:"encoding"`
	// Whether it comes without Content-Length.
	Chunked bool `json:"chunked"`
	// Texts that stand in it, each at an offset.
	Placed []Placed `json:"placed"`
	// Headers that come after it; only with Chunked.
	Trailers map[string]string `json:"trailers"`
}

// Placed is a text at an offset of a body.
type Placed struct {
	Offset int    `json:"offset"`
	Text   string `json:"text"`
}

// Answer says what the origin answers; it travels in a header, encoded so that no rule takes it for an attack.
type Answer struct {
	Status int  `json:"status"`
	Body   Body `json:"body"`
	// Further headers.
	Headers map[string]string `json:"headers"`
	// Whether If-None-Match and Range are honoured.
	Cached bool `json:"cached"`
	// For kind events: how many, and how far apart in milliseconds.
	Events   int `json:"events"`
	Interval int `json:"interval"`
}

// Rung is one exchange.
type Rung struct {
	Name string `json:"name"`
	// http, events, grpc or websocket.
	Kind string `json:"kind"`
	// 1 or 2: the version that the client speaks.
	Version int               `json:"version"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    *Body             `json:"body"`
	Answer  Answer            `json:"answer"`
	// Messages of kinds grpc and websocket, sent one after the other, each after the echo of the one before.
	Messages []string `json:"messages"`
	// Milliseconds for all of it.
	Limit int `json:"limit"`
}

func (r *Rung) limit() time.Duration {
	if r.Limit <= 0 {
		return 30 * time.Second
	}
	return time.Duration(r.Limit) * time.Millisecond
}

// Sight is what the client saw of a rung.
type Sight struct {
	Name    string            `json:"name"`
	Error   string            `json:"error,omitempty"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	// Content-Length as the headers say it, -1 without.
	Declared int64 `json:"declared"`
	// Bytes and SHA-256 of the body as it came.
	Length   int64             `json:"length"`
	SHA256   string            `json:"sha256"`
	Trailers map[string]string `json:"trailers"`
	// What the origin said that it had received; empty when the answer is not its own.
	Received string `json:"received"`
	// The beginning of a body that is not the origin's.
	Text string `json:"text,omitempty"`
	// Messages that came back.
	Messages []string `json:"messages,omitempty"`
	// Seconds to the headers, to the first byte of the body, and to its end.
	Headed float64 `json:"headed"`
	First  float64 `json:"first"`
	Ended  float64 `json:"ended"`
}

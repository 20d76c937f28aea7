package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

const (
	boundary = "edgegate-ladder-boundary"
	words    = "the quick brown fox jumps over a lazy dog and runs on through quiet woods until it finds its way home. "
	// RFC 7932: a block of bytes as they are may have 2^16 of them when its length is written with four nibbles.
	brotliBlock = 1 << 16
)

// bytesOf returns a body as it goes on the wire.
func bytesOf(body Body) ([]byte, error) {
	plain := bytes.Repeat([]byte(words), body.Size/len(words)+1)[:body.Size]
	for _, one := range body.Placed {
		if one.Offset < 0 || one.Offset+len(one.Text) > len(plain) {
			return nil, fmt.Errorf("a text of %d bytes at %d does not fit a body of %d", len(one.Text), one.Offset, len(plain))
		}
		copy(plain[one.Offset:], one.Text)
	}
	if isMultipart(body.Type) {
		plain = multipart(plain)
	}
	switch body.Encoding {
	case "", "identity":
		return plain, nil
	case "gzip":
		return zipped(plain), nil
	case "br":
		return brotli(plain), nil
	}
	return nil, fmt.Errorf("encoding %q is none of identity, gzip, br", body.Encoding)
}

func isMultipart(kind string) bool { return kind == "multipart/form-data" }

func contentType(kind string) string {
	if isMultipart(kind) {
		return kind + "; boundary=" + boundary
	}
	return kind
}

func multipart(file []byte) []byte {
	head := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n" +
		"Content-Type: text/plain\r\n\r\n"
	return append(append([]byte(head), file...), "\r\n--"+boundary+"--\r\n"...)
}

func zipped(plain []byte) []byte {
	var out bytes.Buffer
	// Without a search for repetitions the text is hidden, and yet half as long as it was, as real pages are.
	writer, _ := gzip.NewWriterLevel(&out, gzip.HuffmanOnly) // this level exists
	_, _ = writer.Write(plain)                               // a buffer takes everything
	_ = writer.Close()
	return out.Bytes()
}

// brotli returns a Brotli stream (RFC 7932) of blocks that are not compressed: right for every decoder, and all that a
// proxy which must not touch a body needs.
func brotli(plain []byte) []byte {
	var out bytes.Buffer
	bits, count := uint64(0b1011), 4 // a window of 2^22
	for begin := 0; begin < len(plain); begin += brotliBlock {
		block := plain[begin:min(begin+brotliBlock, len(plain))]
		// Not the last one; four nibbles; length less one; as it is.
		bits |= uint64(len(block)-1) << (count + 3)
		bits |= 1 << (count + 19)
		count += 20
		for ; count > 0; count -= 8 {
			out.WriteByte(byte(bits))
			bits >>= 8
		}
		bits, count = 0, 0
		out.Write(block)
	}
	// The last one, and empty.
	out.WriteByte(byte(bits | 0b11<<count))
	return out.Bytes()
}

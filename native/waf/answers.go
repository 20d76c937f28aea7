package main

import (
	"fmt"
	"net/http"

	"github.com/corazawaf/coraza/v3/types"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

const (
	off      = filter.ProcessingMode_NONE
	buffered = filter.ProcessingMode_BUFFERED
	duplex   = filter.ProcessingMode_FULL_DUPLEX_STREAMED
)

type answer = *pb.ProcessingResponse

// goOn lets headers pass.
func goOn(response bool) answer {
	headers := &pb.HeadersResponse{Response: &pb.CommonResponse{}}
	if response {
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_ResponseHeaders{ResponseHeaders: headers}}
	}
	return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_RequestHeaders{RequestHeaders: headers}}
}

// chunk lets a part of a body pass; in full duplex Envoy forwards what the answer holds, else what it has itself.
func chunk(response bool, body *pb.HttpBody, isDuplex bool) answer {
	common := &pb.CommonResponse{}
	if isDuplex {
		part := &pb.StreamedBodyResponse{Body: body.GetBody(), EndOfStream: body.GetEndOfStream()}
		common.BodyMutation = &pb.BodyMutation{Mutation: &pb.BodyMutation_StreamedResponse{StreamedResponse: part}}
	}
	if response {
		return &pb.ProcessingResponse{
			Response: &pb.ProcessingResponse_ResponseBody{ResponseBody: &pb.BodyResponse{Response: common}},
		}
	}
	return &pb.ProcessingResponse{
		Response: &pb.ProcessingResponse_RequestBody{RequestBody: &pb.BodyResponse{Response: common}},
	}
}

func trailers(response bool) answer {
	if response {
		return &pb.ProcessingResponse{
			Response: &pb.ProcessingResponse_ResponseTrailers{ResponseTrailers: &pb.TrailersResponse{}},
		}
	}
	return &pb.ProcessingResponse{
		Response: &pb.ProcessingResponse_RequestTrailers{RequestTrailers: &pb.TrailersResponse{}},
	}
}

// instead ends a request with an answer of ours; the detail is for Envoy's access log, never for the client.
func instead(status int, detail, body string) answer {
	plain := &core.HeaderValueOption{Header: &core.HeaderValue{Key: "content-type", RawValue: []byte("text/plain")}}
	return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_ImmediateResponse{
		ImmediateResponse: &pb.ImmediateResponse{
			Status:  &kind.HttpStatus{Code: kind.StatusCode(status)},
			Headers: &pb.HeaderMutation{SetHeaders: []*core.HeaderValueOption{plain}},
			Body:    []byte(body),
			Details: detail,
		},
	}}
}

// block answers what a rule asks for: 403 whatever status it names, so that a block is told from any other error.
func block(found *types.Interruption) answer {
	detail := fmt.Sprintf("waf_blocked_by_%d", found.RuleID)
	if found.Action == "redirect" && found.Data != "" {
		out := instead(http.StatusFound, detail, "")
		location := &core.HeaderValue{Key: "location", RawValue: []byte(found.Data)}
		set := out.GetImmediateResponse().Headers
		set.SetHeaders = append(set.SetHeaders, &core.HeaderValueOption{Header: location})
		return out
	}
	if found.Status == http.StatusRequestEntityTooLarge {
		return instead(found.Status, detail, "The request is too large.\n")
	}
	return instead(http.StatusForbidden, detail, "The request was refused.\n")
}

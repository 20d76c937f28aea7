package main

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// raw lets gRPC carry bytes as they are; nothing here has a schema.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(value any) (mem.BufferSlice, error) {
	message, ok := value.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message of the ladder", value)
	}
	return mem.BufferSlice{mem.SliceBuffer(*message)}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, value any) error {
	message, ok := value.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message of the ladder", value)
	}
	*message = data.Materialize()
	return nil
}

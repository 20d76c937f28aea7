package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/corazawaf/coraza/v3/types"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// responseLimit is how much of a response the rules see, as in the recommended configuration.
const responseLimit = 512 << 10

var errSize = errors.New("over-size")

// body takes a part of a body in.
func (st *stream) body(side int, part *pb.HttpBody) []answer {
	h := &st.halves[side]
	out := chunk(side == response, part, h.mode == duplex)
	if st.tx == nil || h.open {
		return []answer{out}
	}
	whole, err := st.feed(side, part.GetBody())
	var stop *types.Interruption
	if err == nil && (part.GetEndOfStream() || whole) {
		stop, err = st.finish(side)
	}
	if refusal := st.judge(side, stop, err); refusal != nil {
		return refusal
	}
	return st.hold(side, out, len(part.GetBody()))
}

// end takes trailers in, which end a body too.
func (st *stream) end(side int, out answer) []answer {
	if st.tx == nil {
		return []answer{out}
	}
	if h := &st.halves[side]; !h.open {
		stop, err := st.finish(side)
		if refusal := st.judge(side, stop, err); refusal != nil {
			return refusal
		}
	}
	return st.hold(side, out, 0)
}

// feed gives the rules what they may see; whole tells that they have seen as much as they will.
func (st *stream) feed(side int, content []byte) (whole bool, err error) {
	h := &st.halves[side]
	before := h.size
	h.size += int64(len(content))
	if side == request {
		limit := st.gate.limits.upload
		if st.text {
			limit = st.gate.limits.text
		}
		if h.size > limit {
			return false, errSize
		}
		_, _, err = st.tx.WriteRequestBody(content)
		return false, err
	}
	if room := responseLimit - before; room < int64(len(content)) {
		content, whole = content[:room], true
		st.skipped("response-size")
	}
	_, _, err = st.tx.WriteResponseBody(content)
	return whole, err
}

// finish lets the rules judge a body.
func (st *stream) finish(side int) (*types.Interruption, error) {
	stop, err := st.evaluate(func() (*types.Interruption, error) {
		if side == request {
			return st.tx.ProcessRequestBody()
		}
		return st.tx.ProcessResponseBody()
	})
	if stop == nil && err == nil {
		st.halves[side].open = true
	}
	return stop, err
}

func (st *stream) evaluate(rules func() (*types.Interruption, error)) (*types.Interruption, error) {
	start := time.Now()
	var stop *types.Interruption
	err := st.gate.evaluate(st.ctx, st.budget, func() (err error) {
		stop, err = rules()
		return err
	})
	st.counts.evaluated.Add(int64(time.Since(start)))
	return stop, err
}

// judge returns what is answered instead of going on; nil to go on. A policy that only observes always goes on.
func (st *stream) judge(side int, stop *types.Interruption, err error) []answer {
	if stop != nil {
		st.verdict.Verdict, st.verdict.Rule = "blocked", stop.RuleID
		if st.has(emptyError) {
			return []answer{instead(http.StatusInternalServerError, "fault", "")}
		}
		return []answer{block(stop)}
	}
	if err == nil {
		return nil
	}
	st.verdict.Reason = err.Error()
	if st.engine.policy.Mode != enforce {
		st.skipped(err.Error())
		st.halves[request].open, st.halves[response].open = true, true
		return nil
	}
	st.verdict.Verdict = "refused"
	detail := "waf_" + err.Error()
	switch {
	case errors.Is(err, errSize):
		return []answer{instead(http.StatusRequestEntityTooLarge, detail, "The request is too large.\n")}
	case errors.Is(err, errTime), errors.Is(err, errMemory):
		return []answer{instead(http.StatusServiceUnavailable, detail, "The request could not be checked in time.\n")}
	}
	return []answer{instead(http.StatusInternalServerError, "waf_failed", "The request could not be checked.\n")}
}

// hold keeps an answer until the verdict is known, and returns all that may go now. Envoy itself holds what it buffers:
// it gets each of its answers at once.
func (st *stream) hold(side int, out answer, size int) []answer {
	h := &st.halves[side]
	if h.mode != duplex {
		return []answer{out}
	}
	h.held = append(h.held, out)
	if !h.open {
		h.waiting += int64(size)
		if err := st.gate.hold(size); err != nil && !st.has(noHeldLimit) {
			if refusal := st.judge(side, nil, err); refusal != nil {
				return refusal
			}
		}
	}
	if !h.open {
		return nil
	}
	if st.has(truncatedBody) && side == response && st.tx != nil && len(h.held) > 1 {
		truncate(h.held)
	}
	ready := h.held
	h.held = nil
	return ready
}

// skipped counts that something passed unseen, or was seen in part.
func (st *stream) skipped(reason string) {
	if !st.has(silentBypass) {
		st.counts.skipped(st.engine.policy.Name, reason)
	}
}

// sent tells that an answer is on its way: only now is what it held no longer in our memory. A verdict on many bodies
// at once would else let more in while those are still here.
func (st *stream) sent(out answer) {
	for side, body := range [][]byte{
		out.GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse().GetBody(),
		out.GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse().GetBody(),
	} {
		st.release(&st.halves[side], int64(len(body)))
	}
}

// release gives up to so many of the bytes back that the gate counts for a half.
func (st *stream) release(h *half, size int64) {
	size = min(size, h.waiting)
	st.gate.held.Add(-size)
	h.waiting -= size
}

func truncate(held []answer) {
	for _, out := range held {
		if part := out.GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse(); part != nil {
			part.Body = part.Body[:len(part.Body)/2]
		}
	}
}

// close ends a transaction; the verdict is written when all is over.
func (st *stream) close() {
	st.release(&st.halves[request], st.halves[request].waiting)
	st.release(&st.halves[response], st.halves[response].waiting)
	if st.tx == nil {
		return
	}
	budgets.Delete(st.tx.ID())
	defer noted.Delete(st.tx.ID())
	st.tx.ProcessLogging()
	v := &st.verdict
	v.Policy, v.Rules, v.Log = st.engine.policy.Name, st.matches.ids, st.matches.text
	if v.Verdict == "passed" && st.matches.wouldStop != 0 {
		v.Verdict, v.Rule = "detected", st.matches.wouldStop
	}
	st.counts.request(v.Policy, v.Verdict)
	st.verdicts.write(*v)
	if err := st.tx.Close(); err != nil {
		st.skipped("close")
	}
}

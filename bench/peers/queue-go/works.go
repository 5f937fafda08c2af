package main

import (
	"math"
	"runtime"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/clock"
)

// work is one thing to measure with the queue holding the given pods. Its measure returns the
// median over repetitions in the work's own unit.
type work struct {
	name    string
	measure func(pods []*v1.Pod, budget time.Duration) (float64, error)
}

var works = []work{
	{"add", add},
	{"pop", pop},
	{"steady", steady},
	{"event-skip", eventSkip},
	{"event-queue-1pct", eventQueueOneTemplate},
	{"event-unregistered", eventUnregistered},
	{"assigned", assigned},
	{"flush-backoff", flushBackoff},
	{"flush-leftover", flushLeftover},
	{"bytes", bytes},
}

func workNames() []string {
	var all []string
	for _, w := range works {
		all = append(all, w.name)
	}
	return all
}

// add measures a new pod entering active, from an empty queue on.
func add(pods []*v1.Pod, budget time.Duration) (float64, error) {
	return onManyQueues(len(pods), budget, func(q *testQueue) (float64, error) {
		ns := stopwatch(func() { q.addAll(pods) })
		return ns / float64(len(pods)), q.expect(len(pods), 0, 0)
	})
}

// pop measures a successful attempt, Pop and Done, until the queue is empty.
func pop(pods []*v1.Pod, budget time.Duration) (float64, error) {
	return onManyQueues(len(pods), budget, func(q *testQueue) (float64, error) {
		q.addAll(pods)
		var err error
		ns := stopwatch(func() { err = q.popAll(len(pods)) })
		if err != nil {
			return 0, err
		}
		return ns / float64(len(pods)), q.expect(0, 0, 0)
	})
}

// steady measures a successful attempt followed by the arrival of a new pod, at constant depth.
func steady(pods []*v1.Pod, budget time.Duration) (float64, error) {
	arrivals := newPods(len(pods), min(max(len(pods), 10_000), 100_000))
	return onFreshQueues(budget, func(q *testQueue) (float64, error) {
		q.addAll(pods)
		var err error
		ns := timed(func() {
			for _, pod := range arrivals {
				if err = q.popAll(1); err != nil {
					return
				}
				q.Add(q.ctx, pod)
			}
		})
		if err != nil {
			return 0, err
		}
		return ns / float64(len(arrivals)), q.expect(len(pods), 0, 0)
	})
}

// eventSkip measures a node that grew and is still too small for every pod in the pool.
func eventSkip(pods []*v1.Pod, budget time.Duration) (float64, error) {
	return onParkedQueue(pods, names.NodeResourcesFit, budget, func(q *steppedQueue) (float64, error) {
		before, after := newNode(smallestPodMilliCPU-60), newNode(smallestPodMilliCPU-10)
		ns := timed(func() { q.move(nodeAllocatableChanged, before, after) })
		return ns, q.expect(0, 0, len(pods))
	})
}

// eventQueueOneTemplate measures a node that grew enough for the pods of template 0 only.
func eventQueueOneTemplate(pods []*v1.Pod, budget time.Duration) (float64, error) {
	fitting := (len(pods) + templates - 1) / templates
	return onParkedQueue(pods, names.NodeResourcesFit, budget, func(q *steppedQueue) (float64, error) {
		before, after := newNode(smallestPodMilliCPU-50), newNode(smallestPodMilliCPU)
		ns := timed(func() { q.move(nodeAllocatableChanged, before, after) })
		if err := q.expect(fitting, 0, len(pods)-fitting); err != nil {
			return 0, err
		}
		if err := q.rejectNext(fitting, names.NodeResourcesFit); err != nil {
			return 0, err
		}
		q.clock.Step(longestBackoff)
		return ns, nil
	})
}

// eventUnregistered measures an event that no plugin registered for, averaged over many, as one
// is too short to time.
func eventUnregistered(pods []*v1.Pod, budget time.Duration) (float64, error) {
	const count = 10_000
	return onParkedQueue(pods, names.NodeResourcesFit, budget, func(q *steppedQueue) (float64, error) {
		node := newNode(smallestPodMilliCPU)
		ns := timed(func() {
			for range count {
				q.move(nodeConditionChanged, node, node)
			}
		})
		return ns / count, q.expect(0, 0, len(pods))
	})
}

// assigned measures the start of a pod that no affinity in the pool asks for.
func assigned(pods []*v1.Pod, budget time.Duration) (float64, error) {
	pods = newAffinityPods(len(pods))
	started := newAssignedPod()
	return onParkedQueue(pods, names.InterPodAffinity, budget, func(q *steppedQueue) (float64, error) {
		ns := timed(func() { q.move(framework.EventAssignedPodAdd, nil, started) })
		return ns, q.expect(0, 0, len(pods))
	})
}

// flushBackoff measures the flush of a backoff queue in which every pod's time has come.
func flushBackoff(pods []*v1.Pod, budget time.Duration) (float64, error) {
	q, err := newSteppedQueue(pods)
	if err != nil {
		return 0, err
	}
	defer q.close()
	node := newNode(1 << 40)
	return median(budget, func() (float64, error) {
		// An event that cures all of them while they are backing off sends them to backoff.
		if err := q.rejectNext(len(pods), names.NodeResourcesFit); err != nil {
			return 0, err
		}
		q.move(nodeAdded, nil, node)
		if err := q.expect(0, len(pods), 0); err != nil {
			return 0, err
		}
		q.clock.Step(longestBackoff)
		ns := timed(func() { flushBackoffQCompleted(q.PriorityQueue, q.logger) })
		return ns / float64(len(pods)), q.expect(len(pods), 0, 0)
	})
}

// flushLeftover measures the flush of a pool in which every pod is over the limit.
func flushLeftover(pods []*v1.Pod, budget time.Duration) (float64, error) {
	return onParkedQueue(pods, names.NodeResourcesFit, budget, func(q *steppedQueue) (float64, error) {
		q.clock.Step(queue.DefaultPodMaxInUnschedulablePodsDuration + time.Second)
		ns := timed(func() { flushUnschedulablePodsLeftover(q.PriorityQueue, q.logger) })
		if err := q.expect(len(pods), 0, 0); err != nil {
			return 0, err
		}
		return ns / float64(len(pods)), q.rejectNext(len(pods), names.NodeResourcesFit)
	})
}

// bytes measures the heap the queue keeps for a pod in active, beyond the pod itself. Small depths
// are measured on several queues at once, as what else the heap does would outweigh one.
func bytes(pods []*v1.Pod, budget time.Duration) (float64, error) {
	count := min(max(100_000/len(pods), 1), 20)
	return median(budget, func() (float64, error) {
		queues := make([]*testQueue, 0, count)
		for range count {
			q, err := newQueue(clock.RealClock{})
			if err != nil {
				return 0, err
			}
			defer q.close()
			queues = append(queues, q)
		}
		before := liveHeap()
		for _, q := range queues {
			q.addAll(pods)
		}
		after := liveHeap()
		for _, q := range queues {
			if err := q.expect(len(pods), 0, 0); err != nil {
				return 0, err
			}
		}
		return (float64(after) - float64(before)) / float64(count*len(pods)), nil
	})
}

// smallestPodMilliCPU is what the two containers of a pod of template 0 ask for.
const smallestPodMilliCPU = 110

var (
	nodeAdded              = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	nodeAllocatableChanged = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable}
	nodeConditionChanged   = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeCondition}
)

// onFreshQueues measures once on each of several empty queues, which read the real clock.
func onFreshQueues(budget time.Duration, once func(*testQueue) (float64, error)) (float64, error) {
	return median(budget, func() (float64, error) {
		q, err := newQueue(clock.RealClock{})
		if err != nil {
			return 0, err
		}
		defer q.close()
		return once(q)
	})
}

// onManyQueues is onFreshQueues for works that are over before the garbage collector starts where
// the queue is small: a repetition goes on over new queues until it has seen 100,000 pods, so
// that collecting what the work allocates is part of it at every depth.
func onManyQueues(depth int, budget time.Duration, once func(*testQueue) (float64, error)) (float64, error) {
	queues := min(max(100_000/depth, 1), 50)
	return median(budget, func() (float64, error) {
		runtime.GC()
		total := 0.0
		for range queues {
			q, err := newQueue(clock.RealClock{})
			if err != nil {
				return 0, err
			}
			ns, err := once(q)
			q.close()
			if err != nil {
				return 0, err
			}
			total += ns
		}
		return total / float64(queues), nil
	})
}

// onParkedQueue measures several times on one queue in which plugin rejected all of pods; each
// time must leave them so.
func onParkedQueue(pods []*v1.Pod, plugin string, budget time.Duration, once func(*steppedQueue) (float64, error)) (float64, error) {
	q, err := newParkedQueue(pods, plugin)
	if err != nil {
		return 0, err
	}
	defer q.close()
	return median(budget, func() (float64, error) { return once(q) })
}

// median repeats once until the budget is spent, at least once and at most 51 times.
func median(budget time.Duration, once func() (float64, error)) (float64, error) {
	var seen []float64
	for start := time.Now(); len(seen) < 1 || len(seen) < 51 && time.Since(start) < budget; {
		value, err := once()
		if err != nil {
			return 0, err
		}
		seen = append(seen, value)
	}
	slices.Sort(seen)
	middle := len(seen) / 2
	if len(seen)%2 == 1 {
		return seen[middle], nil
	}
	return (seen[middle-1] + seen[middle]) / 2, nil
}

// timed returns how many nanoseconds f takes. Garbage of the setup is collected before, f's own
// is not.
func timed(f func()) float64 {
	runtime.GC()
	return stopwatch(f)
}

func stopwatch(f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Nanoseconds())
}

func liveHeap() uint64 {
	// Queues of earlier measurements let go of their memory only bit by bit, as their goroutines
	// end and what the last collection found dead is freed: wait until it grows no less.
	var stats runtime.MemStats
	last := uint64(math.MaxUint64)
	for range 50 {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc+4_096 >= last {
			break
		}
		last = stats.HeapAlloc
		time.Sleep(20 * time.Millisecond)
	}
	return stats.HeapAlloc
}

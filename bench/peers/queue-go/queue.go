package main

import (
	"context"
	"fmt"
	"time"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// testQueue is the queue of a scheduler that is configured as kube-scheduler and never runs.
type testQueue struct {
	*queue.PriorityQueue
	ctx    context.Context
	logger klog.Logger
	cancel context.CancelFunc
}

// newQueue takes the queue out of a scheduler in its default configuration, so that PreEnqueue
// plugins, queueing hints, metrics and pod signatures are the ones of production. Its timers are
// not started: what they do is measured by calling it. Close it after use.
func newQueue(clk clock.WithTicker) (*testQueue, error) {
	ctx, cancel := context.WithCancel(context.Background())
	client := fake.NewSimpleClientset()
	sched, err := scheduler.New(ctx, client,
		// The informers stay idle: the plugins see the listers of an empty cluster.
		informers.NewSharedInformerFactory(client, 0), nil,
		profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})),
		scheduler.WithClock(clk))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("building the scheduler: %w", err)
	}
	pq, ok := sched.SchedulingQueue.(*queue.PriorityQueue)
	if !ok {
		cancel()
		return nil, fmt.Errorf("the scheduler's queue is a %T, expected a PriorityQueue", sched.SchedulingQueue)
	}
	return &testQueue{pq, ctx, klog.FromContext(ctx), cancel}, nil
}

func (q *testQueue) close() {
	q.Close()
	q.cancel()
}

func (q *testQueue) addAll(pods []*v1.Pod) {
	for _, pod := range pods {
		q.Add(q.ctx, pod)
	}
}

// popAll opens and ends an attempt on the next count pods.
func (q *testQueue) popAll(count int) error {
	for range count {
		info, err := q.Pop(q.logger)
		if err != nil {
			return err
		}
		q.Done(info.Pod.UID)
	}
	return nil
}

// move reports an event to every pod in the unschedulable pool.
func (q *testQueue) move(event fwk.ClusterEvent, oldObj, newObj any) {
	q.MoveAllToActiveOrBackoffQueue(q.logger, event, oldObj, newObj, nil)
}

// expect checks how many pods wait in each part of the queue, for a measurement of the wrong
// state would look like any other.
func (q *testQueue) expect(active, backoff, unschedulable int) error {
	_, got := q.PendingPods()
	want := fmt.Sprintf("activeQ:%d; backoffQ:%d; unschedulablePods:%d", active, backoff, unschedulable)
	if got != want {
		return fmt.Errorf("the queue holds %s, expected %s", got, want)
	}
	return nil
}

// steppedQueue is a queue on a clock that only moves when told to, which makes the state that
// backoff and the leftover limit depend on the same in every run.
type steppedQueue struct {
	*testQueue
	clock *clocktesting.FakeClock
}

// newSteppedQueue returns a queue in which all of pods are active.
func newSteppedQueue(pods []*v1.Pod) (*steppedQueue, error) {
	clk := clocktesting.NewFakeClock(created.Add(time.Hour))
	q, err := newQueue(clk)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		// No two pods were created at once; equal timestamps would make ties in the heaps.
		clk.Step(time.Microsecond)
		q.Add(q.ctx, pod)
	}
	return &steppedQueue{q, clk}, nil
}

// newParkedQueue returns a queue in which plugin rejected all of pods, long enough ago that none
// of them is backing off.
func newParkedQueue(pods []*v1.Pod, plugin string) (*steppedQueue, error) {
	q, err := newSteppedQueue(pods)
	if err != nil {
		return nil, err
	}
	if err := q.rejectNext(len(pods), plugin); err != nil {
		q.close()
		return nil, err
	}
	if err := q.expect(0, 0, len(pods)); err != nil {
		q.close()
		return nil, err
	}
	q.clock.Step(longestBackoff)
	return q, nil
}

// rejectNext attempts the next count pods, which plugin rejects.
func (q *steppedQueue) rejectNext(count int, plugin string) error {
	for range count {
		q.clock.Step(time.Microsecond)
		info, err := q.Pop(q.logger)
		if err != nil {
			return err
		}
		// What the scheduler's failure handler does to the record between the two calls.
		info.UnschedulablePlugins = sets.New(plugin)
		if err := q.AddUnschedulableIfNotPresent(q.logger, info, q.SchedulingCycle()); err != nil {
			return err
		}
	}
	return nil
}

// longestBackoff is past the end of every backoff, whatever the number of attempts, and far from
// the leftover limit.
const longestBackoff = queue.DefaultPodMaxBackoffDuration + 2*time.Second

// The flushes are private and otherwise run by timers only, one of them on the real clock. Calling
// them by their link names times the flush itself and not the way to it.

//go:linkname flushBackoffQCompleted k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoffQCompleted(q *queue.PriorityQueue, logger klog.Logger)

//go:linkname flushUnschedulablePodsLeftover k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushUnschedulablePodsLeftover(q *queue.PriorityQueue, logger klog.Logger)

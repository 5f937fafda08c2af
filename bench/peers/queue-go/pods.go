package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// templates is the number of workloads the pods come from; pod i belongs to template i % templates.
const templates = 100

// newPods makes the pods numbered from first, count of them.
func newPods(first, count int) []*v1.Pod {
	return makePods(first, count, newPod)
}

// newAffinityPods makes the same pods, each with a required affinity to a peer nobody runs.
func newAffinityPods(count int) []*v1.Pod {
	return makePods(0, count, func(i int) *v1.Pod {
		pod := newPod(i)
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{"app": fmt.Sprintf("peer-%d", i%templates)},
				},
				TopologyKey: "kubernetes.io/hostname",
			}},
		}}
		return pod
	})
}

// newAssignedPod makes a pod that runs on a node and is the peer of none.
func newAssignedPod() *v1.Pod {
	pod := newPod(0)
	pod.Name = "assigned"
	pod.UID = "00000000-0000-4000-8000-ffffffffffff"
	pod.Spec.NodeName = "node-0"
	return decoded(pod)
}

// newNode makes a node whose size only its cpu limits.
func newNode(milliCPU int64) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-0"},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
			v1.ResourceMemory: resource.MustParse("64Gi"),
			v1.ResourcePods:   resource.MustParse("110"),
		}},
	}
}

func makePods(first, count int, numbered func(int) *v1.Pod) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = decoded(numbered(first + i))
	}
	return pods
}

func newPod(i int) *v1.Pod {
	t := i % templates
	priority := int32(i * 7919 % 10)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         fmt.Sprintf("ns-%d", t%10),
			Name:              fmt.Sprintf("pod-%d", i),
			UID:               types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", i)),
			Labels:            map[string]string{"app": fmt.Sprintf("app-%d", t), "tier": fmt.Sprintf("tier-%d", t%3)},
			CreationTimestamp: metav1.NewTime(created),
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Priority:      &priority,
			NodeSelector:  map[string]string{"pool": fmt.Sprintf("pool-%d", t%5)},
			Tolerations: []v1.Toleration{{
				Key:      "dedicated",
				Operator: v1.TolerationOpEqual,
				Value:    fmt.Sprintf("team-%d", t%7),
				Effect:   v1.TaintEffectNoSchedule,
			}},
			Containers: []v1.Container{
				container("main", fmt.Sprintf("registry.example/app-%d:v1", t), int64(100+10*t), int64(128+t)),
				container("sidecar", "registry.example/sidecar:v1", 10, 16),
			},
		},
	}
}

func container(name, image string, milliCPU, memoryMi int64) v1.Container {
	return v1.Container{
		Name:  name,
		Image: image,
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(memoryMi<<20, resource.BinarySI),
		}},
	}
}

// decoded sends the pod over the wire format, so that it shares no string with any other pod and
// lies in memory as one that an informer delivered.
func decoded(pod *v1.Pod) *v1.Pod {
	data, err := pod.Marshal()
	if err != nil {
		panic(fmt.Sprintf("encoding pod %s: %v", pod.Name, err))
	}
	received := &v1.Pod{}
	if err := received.Unmarshal(data); err != nil {
		panic(fmt.Sprintf("decoding pod %s: %v", pod.Name, err))
	}
	return received
}

var created = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

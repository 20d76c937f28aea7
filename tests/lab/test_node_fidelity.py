"""Pods behave in the lab as they do under a kubelet."""

from collections.abc import Iterator
from time import monotonic

import pytest

from edgegate.clock import wait_until
from edgegate.clusters.kinds import Ref
from node_lab import SERVER, NodeLab, shell, start, state

FOREVER = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeLab]:
    """Return a lab in which pods run."""
    made = start(tmp_path_factory.mktemp("node"))
    yield made
    made.lab.down()


def test_a_pod_runs_with_the_environment_that_it_asks_for(node: NodeLab) -> None:
    node.secret("token", key="s3cret")
    pod = node.pod(
        "plain",
        shell(
            f"echo $NAME $IP $WORD $LIMIT $KEY; hostname; grep plain /etc/hosts; cat /etc/resolv.conf; {FOREVER}",
            env=[
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "WORD", "value": "$(NAME)-$$(NAME)"},
                {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
                {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}},
            ],
            resources={"limits": {"memory": "64Mi"}},
        ),
    )
    seen = node.ready(pod)
    address = seen["status"]["podIP"]
    lines = [
        f"plain {address} plain-$(NAME) 64 s3cret",
        "plain",
        f"{address}\tplain",
        "nameserver 10.96.0.10",
        "search default.svc.cluster.local svc.cluster.local cluster.local",
        "options ndots:5",
    ]
    node.says("plain", "\n".join([*lines, ""]))
    assert seen["status"]["hostIP"] == node.lab.net.bridge_ip
    assert (state(seen)["imageID"], state(seen)["started"]) == ("sh", True)


def test_init_containers_run_one_by_one_and_a_sidecar_ends_last(node: NodeLab) -> None:
    mount = [{"name": "shared", "mountPath": "/shared"}]
    pod = node.pod(
        "ordered",
        shell("echo main >> /shared/order", volumeMounts=mount),
        initContainers=[
            shell("echo first >> /shared/order", "first", volumeMounts=mount),
            shell(
                "echo sidecar >> /shared/order; trap 'cat /shared/order; exit 0' TERM; while :; do sleep 0.05; done",
                "side",
                restartPolicy="Always",
                volumeMounts=mount,
                startupProbe={"exec": {"command": ["grep", "-q", "sidecar", "/shared/order"]}, "periodSeconds": 1},
            ),
            shell("echo last >> /shared/order", "last", volumeMounts=mount),
        ],
        volumes=[{"name": "shared", "emptyDir": {}}],
        restartPolicy="Never",
    )
    node.wait(pod, lambda seen: seen["status"]["phase"] == "Succeeded", "ordered succeeds")
    assert node.log("ordered", "side").split() == ["first", "sidecar", "last", "main"]


def test_a_container_that_fails_is_restarted_at_once_and_then_backs_off(node: NodeLab) -> None:
    pod = node.pod("crash", shell("echo bye > /dev/termination-log; exit 7"))
    seen = node.wait(pod, lambda one: "waiting" in state(one)["state"] and state(one)["restartCount"] == 1, "back-off")
    waiting, last = state(seen)["state"]["waiting"], state(seen)["lastState"]["terminated"]
    assert waiting["reason"] == "CrashLoopBackOff"
    assert waiting["message"].startswith("back-off 10s restarting failed container=c pod=crash_default(")
    assert (last["exitCode"], last["reason"], last["message"].strip()) == (7, "Error", "bye")
    assert seen["status"]["phase"] == "Running"


def test_an_image_without_a_pin_is_named(node: NodeLab) -> None:
    pod = node.pod("unknown", {"name": "c", "image": "example.org/team/thing:v9"})
    seen = node.wait(pod, lambda one: "waiting" in state(one)["state"], "ErrImagePull")
    node.wait(pod, lambda one: state(one)["state"]["waiting"]["reason"] == "ErrImagePull", "ErrImagePull")
    waiting = state(node.plane.get(pod) or seen)["state"]["waiting"]
    assert waiting["message"] == (
        'image "example.org/team/thing:v9": pins.toml has no pin for it, and the lab pulls nothing'
    )


def test_a_missing_secret_is_named_and_its_arrival_noticed(node: NodeLab) -> None:
    ref = {"secretKeyRef": {"name": "late", "key": "key"}}
    pod = node.pod("late", shell(f"echo $KEY; {FOREVER}", env=[{"name": "KEY", "valueFrom": ref}]))
    node.wait(
        pod,
        lambda one: (
            state(one)["state"].get("waiting")
            == {
                "reason": "CreateContainerConfigError",
                "message": 'secret "late" not found',
            }
        ),
        "CreateContainerConfigError",
    )
    node.secret("late", key="there")
    node.ready(pod, within=3)
    node.says("late", "there\n")


def test_a_missing_volume_is_told_in_an_event_and_its_arrival_noticed(node: NodeLab) -> None:
    volume = {"name": "v", "configMap": {"name": "later"}}
    pod = node.pod("unmounted", shell(FOREVER), volumes=[volume])
    told = node.tells("unmounted", "FailedMount")
    assert told == 'MountVolume.SetUp failed for volume "v" : configmap "later" not found'
    node.config_map("later", key="value")
    node.ready(pod, within=3)


def test_a_mounted_config_map_follows_its_object_within_a_second(node: NodeLab) -> None:
    node.config_map("followed", key="1")
    pod = node.pod(
        "follower",
        shell(
            f"until [ $(cat /v/key) = 2 ]; do sleep 0.01; done; readlink /v/key; echo seen; {FOREVER}",
            volumeMounts=[{"name": "v", "mountPath": "/v"}],
        ),
        volumes=[{"name": "v", "configMap": {"name": "followed"}}],
    )
    node.ready(pod)
    began = monotonic()
    node.config_map("followed", key="2")
    node.says("follower", "..data/key\nseen\n")
    assert monotonic() - began < 1


def test_a_projected_token_lets_the_pod_in_as_its_account(node: NodeLab) -> None:
    node.pod("account", shell(f"cat /var/run/secrets/kubernetes.io/serviceaccount/token; {FOREVER}"))
    token = wait_until("token", lambda: node.log("account"), deadline=10)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = node.plane.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body=review)
    user = answer["status"]["user"]
    assert user["username"] == "system:serviceaccount:default:default"
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["account"]


def test_a_host_path_is_refused(node: NodeLab) -> None:
    node.pod("host", shell(FOREVER), volumes=[{"name": "v", "hostPath": {"path": "/etc"}}])
    assert "hostPath is refused: the lab's own files are not a node's" in node.tells("host", "FailedMount")


def test_readiness_follows_its_probe_both_ways(node: NodeLab) -> None:
    pod = node.pod(
        "served",
        {
            "name": "c",
            "image": "python:3",
            "args": ["-u", "-c", f"import os; os.chdir('/tmp'); open('ok', 'w'); {SERVER}"],
            "ports": [{"name": "web", "containerPort": 8080}],
            "readinessProbe": {"httpGet": {"path": "/ok", "port": "web"}, "periodSeconds": 1, "failureThreshold": 1},
            "livenessProbe": {"exec": {"command": ["rm", "/tmp/ok"]}, "initialDelaySeconds": 2},
        },
    )
    node.ready(pod)
    seen = node.wait(pod, lambda one: not state(one)["ready"], "not ready again")
    assert state(seen)["started"] is True
    assert node.events("served")["Unhealthy"].startswith(
        "Readiness probe failed: HTTP probe failed with statuscode: 404"
    )


def test_a_failed_liveness_probe_restarts_the_container(node: NodeLab) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    pod = node.pod("sick", shell(FOREVER, livenessProbe=probe))
    node.wait(pod, lambda one: state(one)["restartCount"] == 1, "restarted")
    assert node.tells("sick", "Killing") == "Container c failed liveness probe, will be restarted"


def test_a_pod_that_is_deleted_runs_its_hook_then_gets_sigterm(node: NodeLab) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook > /proc/1/fd/1; sleep 0.3"]}}}
    pod = node.pod(
        "polite",
        shell("trap 'echo term; exit 0' TERM; while :; do sleep 0.05; done", lifecycle=hook),
        terminationGracePeriodSeconds=30,
    )
    node.ready(pod)
    began = monotonic()
    node.plane.delete(pod)
    node.gone(pod)
    assert node.log("polite") == "hook\nterm\n"
    assert 0.3 < monotonic() - began < 3


def test_a_container_that_ignores_sigterm_is_killed_after_its_grace(node: NodeLab) -> None:
    pod = node.pod("deaf", shell("sleep 100; true"), terminationGracePeriodSeconds=3)
    node.ready(pod)
    began = monotonic()
    node.plane.delete(pod)
    node.gone(pod)
    assert 2.9 < monotonic() - began < 5


def test_a_pod_leaves_nothing_behind(node: NodeLab) -> None:
    pod = node.pod("brief", shell(FOREVER))
    uid = node.ready(pod)["metadata"]["uid"]
    assert f"pod-{uid}" in node.lab.run(["ls", "/run/netns"]).stdout
    node.plane.delete(pod)
    node.gone(pod)
    assert f"pod-{uid}" not in node.lab.run(["ls", "/run/netns"]).stdout
    assert uid not in node.lab.run(["find", "/run/edgegate", "-name", uid]).stdout


def test_pods_reach_each_other_by_address(node: NodeLab) -> None:
    server = node.pod("server", {"name": "c", "image": "python:3", "args": ["-c", SERVER]})
    address = node.ready(server)["status"]["podIP"]
    connect = f"until exec 3<>/dev/tcp/{address}/8080; do sleep 0.05; done"
    script = f"{connect}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3"
    client = node.pod("client", shell(script), restartPolicy="Never")
    node.wait(client, lambda seen: seen["status"]["phase"] == "Succeeded", "client succeeds")
    assert "HTTP/1.0 200 OK" in node.log("client")


def test_a_job_completes(node: NodeLab) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [shell("exit 0")]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "default"}}
    ref = Ref.of(node.plane.create({**job, "spec": {"template": template}}))
    node.wait(ref, lambda seen: (seen.get("status") or {}).get("succeeded") == 1, "job done")


def test_a_pod_that_fits_nowhere_says_so(node: NodeLab) -> None:
    pod = node.pod("picky", shell(FOREVER), nodeSelector={"disk": "ssd"})
    seen = node.wait(pod, lambda one: one["status"].get("conditions"), "unschedulable")
    condition = seen["status"]["conditions"][0]
    assert (condition["reason"], condition["status"]) == ("Unschedulable", "False")
    assert condition["message"] == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."


def test_an_agent_that_was_killed_goes_on_with_its_pods(node: NodeLab) -> None:
    pod = node.pod("kept", shell(f": only-one; {FOREVER}"))
    done = node.pod("done", shell("exit 0"), restartPolicy="Never")
    node.wait(done, lambda seen: seen["status"]["phase"] == "Succeeded", "done succeeds")
    before = node.ready(pod)
    node.lab.kill("node-agent")
    node.lab.restart("node-agent")
    after = node.wait(pod, lambda one: state(one)["restartCount"] == 1 and state(one)["ready"], "restarted")
    assert after["status"]["podIP"] == before["status"]["podIP"]
    assert state(after)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    # bubblewrap and the shell that it started
    assert len(node.lab.run(["pgrep", "-f", "only-one"]).stdout.split()) == 2
    assert (node.plane.get(done) or {})["status"]["phase"] == "Succeeded"
    node.plane.delete_and_wait(done)


def test_a_control_plane_that_was_killed_is_waited_for(node: NodeLab) -> None:
    before = node.ready(node.pod("steady", shell(FOREVER)))
    node.lab.kill("kube-apiserver-downstream")
    node.lab.restart("kube-apiserver-downstream")
    node.ready(node.pod("afterwards", shell(FOREVER)))
    after = node.plane.get(Ref.of(before)) or {}
    assert (state(after)["restartCount"], state(after)["ready"]) == (0, True)


def _service(node: NodeLab, name: str, **spec: object) -> Ref:
    body = {"ports": [{"port": 80}], "type": "LoadBalancer", **spec}
    metadata = {"name": name, "namespace": "default"}
    return Ref.of(node.plane.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": body})[0])


def _ingress(service: dict[str, object]) -> object:
    return service["status"]["loadBalancer"].get("ingress")  # type: ignore[index]


def test_a_load_balancer_gets_an_address_and_gives_it_back(node: NodeLab) -> None:
    wanted = node.lab.net.lb_last
    service = _service(node, "balanced", loadBalancerIP=wanted)
    seen = node.wait(service, _ingress, "address")
    assert _ingress(seen) == [{"ip": wanted, "ipMode": "VIP"}]
    assert wanted in node.lab.run(["ip", "addr", "show", "uplink"]).stdout
    _service(node, "balanced", type="ClusterIP")
    node.wait(service, lambda one: not _ingress(one), "address given back")
    wait_until(
        "address removed", lambda: wanted not in node.lab.run(["ip", "addr", "show", "uplink"]).stdout, deadline=3
    )


def test_load_balancers_beyond_the_last_address_wait_for_one(node: NodeLab) -> None:
    services = [_service(node, f"many-{number}") for number in range(24)]
    wait_until("event", lambda: any("AllocationFailed" in node.events(ref.name) for ref in services), deadline=10)
    without = [ref for ref in services if not _ingress(node.plane.get(ref) or {})]
    assert [node.events(ref.name)["AllocationFailed"] for ref in without] == [
        "no load-balancer address is free: all 23 of the lab are taken"
    ]
    node.plane.delete(next(ref for ref in services if ref not in without))
    node.wait(without[0], _ingress, "address of the one that went")
    node.plane.delete_and_wait(*services)

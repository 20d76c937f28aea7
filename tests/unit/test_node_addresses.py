"""Who has which address."""

from edgegate.lab.node.addresses import AddressBook, balancer_address, shown_addresses, wants_balancer
from edgegate.lab.node.config import Network
from edgegate.lab.node.kube import Json

NET = Network("pods", "10.88.7.129", "10.88.7.128/25", "10.96.0.10", lb_first="10.88.7.8", lb_last="10.88.7.10")


def test_pods_get_every_address_but_the_gateways() -> None:
    pool = NET.pod_addresses()
    assert (pool[0], pool[-1], len(pool)) == ("10.88.7.130", "10.88.7.254", 125)


def test_the_balancer_has_its_range_or_nothing() -> None:
    assert NET.balancer_addresses() == ["10.88.7.8", "10.88.7.9", "10.88.7.10"]
    assert Network("pods", "10.88.7.129", "10.88.7.128/25", "10.96.0.10").balancer_addresses() == []


def test_an_owner_keeps_its_address_and_a_freed_one_rests() -> None:
    book = AddressBook(["a", "b", "c"])
    assert (book.take("1"), book.take("2"), book.take("1")) == ("a", "b", "a")
    book.free("1")
    assert book.take("3") == "c"
    assert book.take("4") == "a"
    assert book.take("5") is None


def test_addresses_that_pods_have_already_are_not_given_again() -> None:
    book = AddressBook(["a", "b"])
    book.hold("old", "a")
    book.hold("liar", "a")
    book.hold("far", "z")
    assert book.take("new") == "b"
    assert book.take("old") == "a"


def _service(uid: str = "u", shown: str = "", **spec: object) -> Json:
    ingress = [{"ip": shown}] if shown else None
    metadata = {"uid": uid, "name": uid, "namespace": "shop"}
    return {
        "metadata": metadata,
        "spec": {"type": "LoadBalancer", **spec},
        "status": {"loadBalancer": {"ingress": ingress}},
    }


def test_only_services_of_the_type_want_an_address() -> None:
    assert wants_balancer(_service())
    assert not wants_balancer(_service(type="ClusterIP"))
    assert not wants_balancer(_service(loadBalancerClass="other.example"))
    going = _service()
    going["metadata"]["deletionTimestamp"] = "now"
    assert not wants_balancer(going)


def test_addresses_shown_in_a_status() -> None:
    assert shown_addresses(_service(shown="a")) == ["a"]
    assert shown_addresses({"metadata": {}, "spec": {}}) == []


def test_a_wish_comes_first_then_what_it_has_then_the_lowest() -> None:
    pool = ["a", "b", "c"]
    assert balancer_address(_service(loadBalancerIP="c", shown="b"), {}, pool) == "c"
    assert balancer_address(_service(loadBalancerIP="c"), {"other": "c"}, pool) == "a"
    assert balancer_address(_service(shown="b"), {}, pool) == "b"
    assert balancer_address(_service(), {"u": "b"}, pool) == "b"
    assert balancer_address(_service(), {"other": "a"}, pool) == "b"
    assert balancer_address(_service(), {"x": "a", "y": "b", "z": "c"}, pool) is None

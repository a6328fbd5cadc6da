"""One page from eight, read back by an independent parser."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from services.server.metrics.merge import merge_pages, with_label


def page(service: str) -> str:
    registry = CollectorRegistry()
    Counter("shared_things", "In both.", ["kind"], registry=registry).labels(f'a "{service}"').inc(2)
    Histogram("waits_seconds", "In both.", registry=registry, buckets=(1.0,)).observe(0.5)
    Gauge(f"only_{service}", "In one.", registry=registry).set(1)
    return generate_latest(registry).decode()


def test_families_of_two_daemons_are_declared_once_and_told_apart_by_a_label() -> None:
    merged = merge_pages({"pleg": page("pleg"), "prober": page("prober")})
    families = list(text_string_to_metric_families(merged))
    assert len({f.name for f in families}) == len(families)
    by_name = {f.name: f for f in families}
    things = [s for s in by_name["shared_things"].samples if s.name == "shared_things_total"]
    assert {(s.labels["service"], s.labels["kind"], s.value) for s in things} == {
        ("pleg", 'a "pleg"', 2.0),
        ("prober", 'a "prober"', 2.0),
    }
    buckets = [s for s in by_name["waits_seconds"].samples if s.name == "waits_seconds_bucket"]
    assert {(s.labels["service"], s.labels["le"]) for s in buckets} == {
        (s, le) for s in ("pleg", "prober") for le in ("1.0", "+Inf")
    }
    assert by_name["only_pleg"].samples[0].labels == {}


def test_no_pages_make_an_empty_page() -> None:
    assert merge_pages({}) == ""


def test_a_label_that_is_there_is_kept() -> None:
    assert with_label('m{service="x"} 1', "service", "y") == 'm{service="x"} 1'
    assert with_label("m 1", "service", "y") == 'm{service="y"} 1'

from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore


def test_a_rank_knows_what_its_node_and_its_job_know() -> None:
    store = FactStore(
        [
            Fact("rank.host", "n07", "rank:3"),
            Fact("node.shm_total", 64, "node:n07"),
            Fact("config.tp", 8),
        ]
    )
    shm, tp = store.get("node.shm_total", "rank:3"), store.get("config.tp", "rank:3")
    assert shm is not None and shm.value == 64
    assert tp is not None and tp.value == 8
    assert store.get("node.shm_total", "rank:4") is None


def test_a_gpu_belongs_to_its_node() -> None:
    store = FactStore([Fact("node.driver_version", "550.54", "node:n1")])
    assert store.get("node.driver_version", "gpu:n1/3") is not None
    assert store.get("node.driver_version", "gpu:n2/3") is None


def test_an_answer_outranks_a_measurement_and_that_a_statement() -> None:
    store = FactStore(
        [
            Fact("config.tp", 8, quality=Quality.STATED),
            Fact("config.tp", 4, quality=Quality.ANSWERED),
            Fact("config.tp", 2, quality=Quality.MEASURED),
        ]
    )
    best = store.get("config.tp")
    assert best is not None and best.value == 4
    assert [fact.value for fact in store.every("config.tp")] == [8, 4, 2]


def test_a_failed_probe_is_no_knowledge_but_is_told() -> None:
    store = FactStore([Fact("node.memlock", "permission denied", "node:n1", quality=Quality.FAILED)])
    assert store.get("node.memlock", "node:n1") is None
    assert [fact.value for fact in store.failed()] == ["permission denied"]


def test_events_are_kept_in_the_order_they_were_read() -> None:
    first, second = (Event("torch.cuda_oom", Source("log", "a.log", line), order=line) for line in (1, 2))
    store = FactStore(events=[first, second])
    assert store.events("torch.cuda_oom") == [first, second]
    assert store.event_names() == {"torch.cuda_oom"}


def test_a_number_without_end_is_not_known() -> None:
    endless = [Fact("run.step_time", value, "rank:0") for value in (float("nan"), float("inf"), -float("inf"))]
    assert FactStore(endless).get("run.step_time", "rank:0") is None
    assert FactStore([*endless, Fact("run.step_time", 1.5, "rank:0")]).get("run.step_time", "rank:0") is not None

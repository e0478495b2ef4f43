"""Runs with flat keywords: tests sweep settings that the public API groups by graph, device, options and checkpoint."""

import warnings

import dgraph
from dgraph.backend import Backend
from dgraph.backend.schedule_options import CHOICES
from dgraph.cli.flat_options import OPTION_FIELDS, device_of, run_keywords
from dgraph.graph.load_options import NAMES as LOAD_OPTIONS

OF_DEVICE = ("backend", "threads", "gpus", "gpu_memory", "transport", "allow_gpu_sharing")
OF_RUN = (*OPTION_FIELDS, "validate", "checkpoint", "checkpoint_every", "resume")
ROUNDS = {("local_rounds", True): "local", ("local_rounds", False): "each", ("host_rounds", True): "host"}


def flat_run(algorithm, graph, **flat):
    """Call ``dgraph.run`` on the graph and with the options that the keywords describe.

    Schedule options have the names of the GPU backend (``alb_threshold=``), as have the options of multi-GPU rounds.
    """
    flat = {name: value for name, value in flat.items() if value is not None}
    loading = {name: flat.pop(name) for name in LOAD_OPTIONS if name in flat}
    comm, policy = flat.pop("comm", None), flat.pop("policy", None)
    about_device = {name: flat.pop(name) for name in OF_DEVICE if name in flat}
    device = about_device.get("backend")
    if isinstance(device, Backend):
        device.transport = about_device.get("transport", "auto")
        device.share = about_device.get("allow_gpu_sharing", False)
    else:
        device = device_of(about_device) if about_device else None
    if flat.pop("build", None) == "device":
        graph = dgraph.build_on_gpus(graph, comm=comm, policy=policy or "auto", device=device or "cuda", **loading)
    elif not isinstance(graph, dgraph.Graph):
        graph = dgraph.Graph.load(graph, comm=comm, **loading)
    chosen = [f"{CHOICES[name].option}={_word(flat.pop(name))}" for name in CHOICES if name in flat]
    if chosen or "schedule" in flat:
        flat["schedule"] = ",".join([flat.get("schedule", "auto"), *chosen])
    asked = [(name, flat.pop(name)) for name in ("local_rounds", "host_rounds") if name in flat]
    words = [ROUNDS[word] for word in asked if word in ROUNDS]
    if "across_limit" in flat:
        words.append(f"limit={flat.pop('across_limit')}")
    if words:
        flat["rounds"] = ",".join(words)
    settings = run_keywords({name: flat.pop(name) for name in OF_RUN if name in flat})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dgraph.ConvergenceWarning)
        return dgraph.run(algorithm, graph.on(policy, device), **settings, **flat)


def _word(value):
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

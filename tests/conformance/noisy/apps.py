import sys

from django.apps import AppConfig
from django.core.checks import Warning, register


class NoisyConfig(AppConfig):
    name = "tests.conformance.noisy"
    label = "noisy"

    def ready(self) -> None:
        print("stray: ready", flush=True)
        sys.stderr.write("stray: ready on stderr\n")
        register(_check)


def _check(**options: object) -> list[Warning]:
    print("stray: check", flush=True)
    return [Warning("stray: a finding")]

"""Which screen is at home at which place."""

from __future__ import annotations

from ckptdeck.tui.actions import Place
from ckptdeck.tui.screens.activity import ActivityScreen
from ckptdeck.tui.screens.in_flight import InFlightScreen
from ckptdeck.tui.screens.jobs import JobsScreen
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.screens.quarantine import QuarantineScreen
from ckptdeck.tui.screens.recovery import RecoveryScreen
from ckptdeck.tui.screens.space import SpaceScreen

SCREENS: dict[Place, type[LiveScreen]] = {
    Place.JOBS: JobsScreen,
    Place.IN_FLIGHT: InFlightScreen,
    Place.QUARANTINE: QuarantineScreen,
    Place.RECOVERY: RecoveryScreen,
    Place.SPACE: SpaceScreen,
    Place.ACTIVITY: ActivityScreen,
}

from components.histories.gold import GoldHistory
from tests.contracts.history_contract import HistoryContract


class TestGoldHistory(HistoryContract):
    component = GoldHistory()

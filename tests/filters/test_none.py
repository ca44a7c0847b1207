from components.filters.none import NoFilter
from tests.contracts.filter_contract import FilterContract


class TestNoFilter(FilterContract):
    component = NoFilter()

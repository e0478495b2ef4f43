"""Cases of leiden, see ``__init__.py``."""

TINY = ({}, {"community": [0, 0, 0, 3, 3, 5]})
VALID = [
    {},
    {"resolution": 0.3},
    {"metric": "cpm", "resolution": 0.25, "n_iterations": -1},
    {"max_size": 2},
    {"levels": 2},
]
WRONG = [
    ({}, {"community": {0: 9}}, "communities are named by members", "vertex 0 has community 9"),
    ({}, {"community": {0: 1, 1: 1, 2: 1}}, "communities are named by members", "vertex 0 has community 1"),
    ({}, {"community": {7: 5}}, "communities are connected", "vertex 7 has no path within its community to 5"),
    ({}, {"community": {2: 2, 3: 2, 4: 2}}, "no move gains", "vertex 2 gains by joining the community of 0"),
    ({"metric": "cpm", "resolution": 2.0}, {"community": {1: 0}}, "no vertex gains alone", "vertex 0 gains by leaving"),
    ({"resolution": 0.3}, {"community": {3: 3, 4: 3}}, "no join gains", "the communities of 0 and 3 gain by joining"),
    ({"max_size": 1}, {"community": {1: 0}}, "communities have at most max_size vertices", "of 0 has 2 vertices"),
    ({"levels": 1}, {"level_1": {0: 9}}, "communities are named by members", "vertex 0 has community 9"),
    (
        {"resolution": 0.3, "levels": 2},
        {"level_1": {2: 2, 3: 2, 4: 2}, "level_2": {2: 0, 3: 0, 4: 0}},
        "parts lie within those of the level above",
        "vertex 2 is in the part of 0",
    ),
]

"""Random calls, beside a dict and a sorted list."""

import bisect
import random

import pytest

import foldb


@pytest.mark.parametrize("seed", range(20))
def test_a_keyspace_behaves_like_a_dict(tmp_path, seed):
    draw = random.Random(seed)
    model = {}
    with foldb.open(tmp_path / "db", profile="small") as db:
        for _ in range(1500):
            key = b"%d" % draw.randrange(200)
            call = draw.randrange(9)
            if call < 3:
                db[key] = model[key] = bytes(draw.randrange(300))
            elif call == 3:
                assert db.pop(key, None) == model.pop(key, None)
            elif call == 4:
                assert db.setdefault(key, b"d") == model.setdefault(key, b"d")
            elif call == 5:
                assert db.get(key) == model.get(key) and (key in db) == (key in model)
            elif call == 6 and draw.randrange(10) == 0:
                key, stop = sorted([key, b"%d" % draw.randrange(200)])
                db.delete_range(key, stop)
                model = {own: model[own] for own in model if not key <= own < stop}
            elif call == 7 and draw.randrange(50) == 0:
                db.flush()
            elif call == 8:
                stop = b"%d" % draw.randrange(200)
                expected = sorted(item for item in model.items() if key <= item[0] < stop)
                assert list(db.items(key, stop)) == expected
                assert list(db.items(key, stop, reverse=True)) == expected[::-1]
        assert sorted(model.items()) == list(db.items()) and len(db) == len(model)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("reverse", [False, True])
def test_an_iterator_behaves_like_a_place_in_a_list(tmp_path, seed, reverse):
    draw = random.Random(seed)
    keys = sorted(draw.sample(range(10_000), draw.choice([0, 1, 5, 3000])))
    low, high = sorted(draw.choices(range(10_000), k=2))
    with foldb.open(tmp_path / "db", keys="int", profile="small") as db:
        db.update({key: b"" for key in keys})
        cursor = db.keys(low, high, reverse=reverse)
        keys = [key for key in keys if low <= key < high]
        place = len(keys) if reverse else 0

        def step(forward):
            nonlocal place
            if forward:
                place += 1
                return keys[place - 1] if place <= len(keys) else None
            place -= 1
            return keys[place] if place >= 0 else None

        for _ in range(3000):
            call = draw.randrange(40)
            if call == 0:
                target = draw.randrange(10_000)
                cursor.seek(target)
                place = bisect.bisect_left(keys, target)
            elif call == 1:
                cursor.seek_to_start()
                place = 0
            elif call == 2:
                cursor.seek_to_stop()
                place = len(keys)
            else:
                is_next = draw.random() < 0.6
                for _ in range(draw.choice([1, 1, 2, 50])):
                    try:
                        found = next(cursor) if is_next else cursor.prev()
                    except StopIteration:
                        found = None
                    assert found == step(is_next != reverse)
                    place = min(max(place, 0), len(keys))

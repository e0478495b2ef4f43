"""Fields in GPU memory as the engine and the synchronisation read them: by lid, copied to the host on access."""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda.device_graph.lid_order import by_lid


class FieldView:
    """A field on the GPU or a slice of it. Slices stay on the device; other reads copy to the host.

    Args:
        values: the whole field, by position.
        place: the position of each lid; None if equal.
        first, stop: the lids of this slice.
    """

    def __init__(self, device, values, place, first: int = 0, stop: int | None = None):
        self.device, self.values, self.place = device, values, place
        self.first, self.stop = first, len(values) if stop is None else stop
        self.dtype = values.dtype

    def __len__(self) -> int:
        return self.stop - self.first

    def __getitem__(self, index):
        if isinstance(index, slice):
            first, stop, step = index.indices(len(self))
            if step == 1:
                return FieldView(
                    self.device, self.values, self.place, self.first + first, self.first + max(first, stop)
                )
        return self.device.get(self.values_at(index))

    def __setitem__(self, index, values) -> None:
        if isinstance(values, FieldView):
            values = values.values[values._positions(slice(None))]
        elif isinstance(values, np.ndarray):
            values = self.device.put(np.ascontiguousarray(values))
        self.values[self._positions(index)] = values

    def values_at(self, lids):
        """Return the values of a slice or array of lids, on the device; a slice may share the field's memory."""
        return self.values[self._positions(lids)]

    def piece(self, span: slice, order: np.ndarray | None):
        """Return the values of some lids, contiguous on the device, without a kernel of CuPy's, which it would compile.

        Args:
            span: positions in ``order``, or lids, with start and stop.
            order: lids; None: ascending.
        """
        if order is None:
            lids = slice(self.first + span.start, self.first + span.stop)
            return self.values[lids] if self.place is None else by_lid(self.device, self.values, self.place[lids])
        where = self.device.put((self.first + order[span]).astype(np.uint32))
        where = where if self.place is None else by_lid(self.device, self.place, where)
        return by_lid(self.device, self.values, where)

    def holds(self, size: int, place) -> bool:
        """Return True if it has the first ``size`` lids, whose positions ``place`` gives."""
        return self.place is place and self.first == 0 and self.stop == size

    def is_whole(self, size: int, place) -> bool:
        """Return True if it has all of ``size`` values, in the order that ``place`` gives."""
        return self.holds(size, place) and size == len(self.values)

    def masters(self):
        """Return the values on the device, by position; only for slices that hold all masters."""
        return self.values[self.first : self.stop]

    def on_device(self):
        """Return a copy of the values on the device, by lid."""
        if self.place is None:
            return self.values[self.first : self.stop].copy()
        return by_lid(self.device, self.values, self.place[self.first : self.stop])

    def fetched(self) -> np.ndarray:
        """Return the values by lid on the host; they are reordered there, which takes no GPU memory."""
        if self.place is None:
            return self.device.get(self.masters())
        return self.device.get(self.values[: self.stop])[self.device.get(self.place[self.first : self.stop])]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        values = self.device.get(self.values_at(slice(None)))
        return values if dtype is None else values.astype(dtype, copy=False)

    def _positions(self, index):
        """Return the index of these lids in ``values``."""
        if isinstance(index, slice) and (index.step or 1) > 0:
            first, stop, step = index.indices(len(self))
            lids = slice(self.first + first, self.first + stop, step)
            return lids if self.place is None else self.place[lids]
        if (
            isinstance(index, np.ndarray)
            and index.dtype.kind in "iu"
            and index.size
            and 0 <= index.min() <= index.max() < len(self)
        ):
            lids = self.first + index.astype(np.int64)
        else:
            lids = np.arange(self.first, self.stop, dtype=np.int64)[index]
        where = self.device.put(lids)
        return where if self.place is None else self.place[where]

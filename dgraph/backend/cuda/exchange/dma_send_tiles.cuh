// As ``join_part`` (dma_send.cuh), with propagation blocking: combine the partial results of tiles. Any grid.
KERNEL join_tiles_part(i64 of) {
    if (is_over()) return;
    join_cut_tiles(of);
    note_pulled(of);
}

"""Communities of high modularity: local moves in sub-rounds, refinement, coarse levels, and a serial polish."""

from dgraph.backend.kernel_register import Solver

KERNELS = (Solver("communities", cpu="community_search:CommunitySearch", gpu="communities_cuda:GpuCommunities"),)

#include "ledger/scan/view/map.h"

#include <stdlib.h>

int
scan_map_add(struct scan_map *map, size_t out, size_t in, size_t num,
    size_t den)
{
	struct scan_stretch *more;
	size_t cap;

	if (map->n > 0 && map->stretch[map->n - 1].out == out)
		map->n--;
	if (map->n == map->cap) {
		cap = map->cap == 0 ? 256 : 2 * map->cap;
		more = reallocarray(map->stretch, cap, sizeof(*more));
		if (more == NULL)
			return -1;
		map->stretch = more;
		map->cap = cap;
	}
	map->stretch[map->n++] = (struct scan_stretch){ (uint32_t)out, (uint32_t)in,
	    (uint32_t)num, (uint32_t)den };
	return 0;
}

/* The last stretch at or before `at`; there is one. */
static const struct scan_stretch *
stretch_of(const struct scan_map *map, size_t at)
{
	size_t low = 0, n = map->n, half;

	/* without a branch on what is found: it is as good as random */
	for (; n > 1; n -= half) {
		half = n / 2;
		low += (map->stretch[low + half].out <= at) * half;
	}
	return &map->stretch[low];
}

size_t
scan_map_origin(const struct scan_map *map, size_t at)
{
	const struct scan_stretch *s;

	for (; map != NULL; map = map->below) {
		if (map->n == 0)
			continue;
		s = stretch_of(map, at);
		at = s->in + (size_t)((uint64_t)(at - s->out) * s->num / s->den);
	}
	return at;
}

bool
scan_map_joint(const struct scan_map *map, size_t at)
{
	return map->n > 0 && at > 0 && stretch_of(map, at)->out == at;
}

bool
scan_map_new(const struct scan_map *map, size_t start, size_t end)
{
	if (!map->shortened)
		return true;
	return map->n > 0 && end > start + 1 &&
	    stretch_of(map, end - 1)->out > start;
}

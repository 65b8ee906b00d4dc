/*
 * links.h - the measured links that come with the extension (sql/install/cluster.sql), for the figures.
 */
#ifndef SCALING_LINKS_H
#define SCALING_LINKS_H

#include "scaling/collective.h"

static const pm_link_row v100_rows[] = {
	{2, 22.6, 23.8, 0}, {3, 45.2, 32.0, 0}, {4, 85.8, 45.0, 0}, {5, 37.1, 41.6, 0}, {6, 45.9, 49.8, 0}, {7, 87.6, 63.5, 0}, {8, 136.1, 75.9, 0}
};
static const pm_link_row a100_rows[] = {
	{2, 192.9, 46.0, 0}, {3, 209.7, 55.7, 0}, {4, 218.4, 54.0, 0}, {5, 222.2, 59.0, 0}, {6, 224.5, 67.3, 0}, {7, 226.2, 70.7, 0}, {8, 227.3, 78.6, 0}
};

#endif

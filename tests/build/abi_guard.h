/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included before coll_gpuring_component.c by component_test.sh: the component then compares its structures
 * with a class that says another size, as a libmpi of another release would.
 */
#define mca_coll_base_module_t_class gr_other_release_class

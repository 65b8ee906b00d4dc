/*
 * tables.c - the tables of the extension, and rights on them.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "tables.h"

Oid
pm_table(const char *name)
{
	Oid			schema = get_namespace_oid("perfmodel", true);
	Oid			table = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table perfmodel.%s does not exist", name),
				 errhint("The extension must be created in this database: CREATE EXTENSION perfmodel.")));
	return table;
}

void
pm_require_privilege(const char *table, AclMode mode)
{
	AclResult	rc = pg_class_aclcheck(pm_table(table), GetUserId(), mode);

	if (rc != ACLCHECK_OK)
		aclcheck_error(rc, OBJECT_TABLE, table);
}

void
pm_require_some_select(const char *table)
{
	Oid			id = pm_table(table);

	if (pg_class_aclcheck(id, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(id, GetUserId(), ACL_SELECT, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, table);
}

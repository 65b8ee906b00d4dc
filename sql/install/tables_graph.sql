-- Operator graphs: the document as loaded, and its nodes as rows.

CREATE TABLE perfmodel.graph (
    graph_id    bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT graph_pkey PRIMARY KEY,
    name        text        NOT NULL CONSTRAINT graph_name_key UNIQUE
                            CONSTRAINT graph_name_not_empty CHECK (name <> ''),
    model       text        NOT NULL,
    family      text        NOT NULL,
    source      text        NOT NULL,
    nodes       integer     NOT NULL,
    params      float8      NOT NULL,
    unknown_ops integer     NOT NULL,
    structure   text        NOT NULL CONSTRAINT graph_structure_is_hash CHECK (structure ~ '^[0-9a-f]{16}$'),
    loaded_at   timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    doc         jsonb       NOT NULL
);
CREATE INDEX graph_structure_idx ON perfmodel.graph (structure);

COMMENT ON TABLE perfmodel.graph IS 'operator graphs, stored by load_graph; a stored graph never changes';
COMMENT ON COLUMN perfmodel.graph.graph_id IS 'identifies the graph; never used again for another graph';
COMMENT ON COLUMN perfmodel.graph.name IS 'unique name, model@variant by convention';
COMMENT ON COLUMN perfmodel.graph.model IS 'name of the model: from the document, else the name of the graph up to @';
COMMENT ON COLUMN perfmodel.graph.family IS 'group of similar networks: from the document, else derived from the model name';
COMMENT ON COLUMN perfmodel.graph.source IS 'where the graph comes from, according to the document';
COMMENT ON COLUMN perfmodel.graph.nodes IS 'number of nodes';
COMMENT ON COLUMN perfmodel.graph.params IS 'trainable parameters, shared ones counted once: from the document, else counted from the nodes';
COMMENT ON COLUMN perfmodel.graph.unknown_ops IS 'nodes whose operator the catalogue does not know; they count as memory moves';
COMMENT ON COLUMN perfmodel.graph.structure IS 'hash of operators, shapes, attributes and edges; equal for the same network under another name';
COMMENT ON COLUMN perfmodel.graph.loaded_at IS 'when it was loaded';
COMMENT ON COLUMN perfmodel.graph.doc IS 'the document as it was loaded';
COMMENT ON CONSTRAINT graph_name_not_empty ON perfmodel.graph IS 'a graph has a name';
COMMENT ON CONSTRAINT graph_structure_is_hash ON perfmodel.graph IS '16 digits, as load_graph writes it';
COMMENT ON INDEX perfmodel.graph_structure_idx IS 'finds the same network under other names';

CREATE TABLE perfmodel.graph_node (
    graph_id       bigint    NOT NULL CONSTRAINT graph_node_graph_loaded
                             REFERENCES perfmodel.graph ON DELETE CASCADE,
    node_id        integer   NOT NULL,
    op             text      NOT NULL,
    class          text      NOT NULL,
    inputs         integer[],
    shape          bigint[],
    batch_dim      smallint,
    attrs          jsonb,
    weights        text,
    flops_forward  float8,
    flops_backward float8,
    bytes_forward  float8,
    bytes_backward float8,
    params         float8,
    module         text,
    CONSTRAINT graph_node_pkey PRIMARY KEY (graph_id, node_id)
);

COMMENT ON TABLE perfmodel.graph_node IS 'operators of graphs with their work at batch 1 in fp32; filled by load_graph';
COMMENT ON COLUMN perfmodel.graph_node.graph_id IS 'graph that the node belongs to';
COMMENT ON COLUMN perfmodel.graph_node.node_id IS 'id of the node in the document, from 0';
COMMENT ON COLUMN perfmodel.graph_node.op IS 'operator, as the document names it';
COMMENT ON COLUMN perfmodel.graph_node.class IS 'conv, gemm, norm, elementwise, pool, attention, embedding, move, recurrent or other';
COMMENT ON COLUMN perfmodel.graph_node.inputs IS 'node_ids of the inputs in argument order; NULL when there are none';
COMMENT ON COLUMN perfmodel.graph_node.shape IS 'shape of the first output at batch 1; NULL for a scalar';
COMMENT ON COLUMN perfmodel.graph_node.batch_dim IS 'index (from 0) of the dimension in shape that is proportional to the batch; NULL when none is';
COMMENT ON COLUMN perfmodel.graph_node.attrs IS 'attributes, as the document gives them';
COMMENT ON COLUMN perfmodel.graph_node.weights IS 'shapes of the parameters that the node reads, as JSON text: [[64,3,7,7],[64]]';
COMMENT ON COLUMN perfmodel.graph_node.flops_forward IS
    'floating-point operations of the forward pass, 2 per multiply-add; NULL when it does no work';
COMMENT ON COLUMN perfmodel.graph_node.flops_backward IS 'floating-point operations of the backward pass';
COMMENT ON COLUMN perfmodel.graph_node.bytes_forward IS 'bytes that the forward pass has to move at least';
COMMENT ON COLUMN perfmodel.graph_node.bytes_backward IS 'bytes that the backward pass has to move at least';
COMMENT ON COLUMN perfmodel.graph_node.params IS 'trainable parameters of the node; NULL when it has none, or shares those of another';
COMMENT ON COLUMN perfmodel.graph_node.module IS 'path of the module that runs the operator, as layer1.0.conv1; NULL when the document does not say';

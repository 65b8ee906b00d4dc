"""The noise of gradients, for perfmodel.convergence.

A step whose gradient is the mean of k parts (micro-batches that are added up,
or replicas) says how much the gradient of one sample varies:

    noise = GradientNoise(model.parameters(), micro_batch=32)
    for micro in micro_batches:
        loss(model(micro)).backward()     # gradients add up in .grad
        noise.part()
    optimizer.step(); optimizer.zero_grad()
    noise.end_of_step()
    ...
    noise.insert(connection, graph_id, dataset="imagenet", batch=256)

grad_sqr and grad_var are unbiased (McCandlish et al. 2018, appendix A); both are
averaged over steps before anybody divides them.
"""


class GradientNoise:
    def __init__(self, parameters, micro_batch, smoothing=0.99):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.micro_batch, self.smoothing = micro_batch, smoothing
        self.before, self.squares = {}, []
        self.grad_sqr = self.grad_var = None

    def part(self):
        """After the backward pass of each micro-batch, while gradients add up."""
        square = 0.0
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                own = p.grad - self.before[i] if i in self.before else p.grad
                square += float((own * own).sum())
                self.before[i] = p.grad.clone()
        self.squares.append(square)

    def end_of_step(self):
        """After the last micro-batch of a step; a step of a single one says nothing."""
        k = len(self.squares)
        if k > 1:
            mean = sum(float((g * g).sum()) for g in self.before.values()) / k ** 2
            parts = sum(self.squares) / k
            self.observe((k * mean - parts) / (k - 1), (parts - mean) * self.micro_batch * k / (k - 1))
        self.before, self.squares = {}, []

    def observe(self, sqr, var):
        keep = self.smoothing if self.grad_sqr is not None else 0.0
        self.grad_sqr = keep * (self.grad_sqr or 0.0) + (1 - keep) * sqr
        self.grad_var = keep * (self.grad_var or 0.0) + (1 - keep) * var

    def insert(self, connection, graph_id, dataset, batch, source="gradient_noise.py"):
        """
        One row; connection is one of psycopg2 or psycopg. A length that is estimated below 0 is stored as 0.
        ValueError when no step had two parts or more.
        """
        if self.grad_sqr is None:
            raise ValueError("nothing is known of the noise: no step had two micro-batches or more")
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO perfmodel.convergence (graph_id, dataset, batch, grad_sqr, grad_var, source) VALUES (%s, %s, %s, %s, %s, %s)",
                           (graph_id, dataset, batch, max(self.grad_sqr, 0.0), max(self.grad_var, 0.0), source))
        connection.commit()

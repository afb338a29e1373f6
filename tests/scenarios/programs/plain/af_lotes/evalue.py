a, b = map(float, open("modele.txt").read().split())
print(f"évaluation : f(0,5) = {a * 0.5 + b:.3f}")
